"""Which recipe trains which kind of head."""

from collections.abc import Callable

from engine.training.blockwise import BlockwiseRecipe
from engine.training.dflash import DflashRecipe
from engine.training.eagle import Eagle2Recipe, Eagle3Recipe
from engine.training.heads import Recipe, TrainingContext
from engine.training.hydra import HydraRecipe
from engine.training.medusa import MedusaRecipe
from engine.training.mtp import MtpRecipe

RECIPES: dict[str, Callable[[TrainingContext], Recipe]] = {
    "eagle3": Eagle3Recipe,
    "eagle2": Eagle2Recipe,
    "medusa": MedusaRecipe,
    "blockwise": BlockwiseRecipe,
    "hydra": HydraRecipe,
    "mtp": MtpRecipe,
    "dflash": DflashRecipe,
}
