"""Drafters: what might come next? One paper or idea a file; DRAFTERS is the list of all."""

from engine.drafters.anpd import Anpd
from engine.drafters.eagle import Eagle2, Eagle3
from engine.drafters.hydra import Hydra
from engine.drafters.medusa import Medusa
from engine.drafters.model import ModelDrafter
from engine.drafters.none import NoDrafter
from engine.drafters.pld import Pld
from engine.drafters.recycle import Recycle
from engine.drafters.sam import Sam
from engine.drafters.sam_recycle import SamRecycle
from engine.drafters.stand import Stand
from engine.parts import Drafter

DRAFTERS: dict[str, type[Drafter]] = {
    part.NAME: part
    for part in (NoDrafter, ModelDrafter, Eagle2, Eagle3, Medusa, Hydra, Pld, Anpd, Sam, Recycle, SamRecycle, Stand)
}
