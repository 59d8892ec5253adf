"""A session is a function of its arguments: the memo changes how much is computed, never what comes out."""

import copy
import itertools

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import AutoModelForCausalLM

from engine.draft import EMPTY, Draft, chain
from engine.errors import ConfigError, EngineFault
from engine.model import Model, Session, lean
from engine.model.products import Product
from engine.model.session import check_finite
from tests.engine.model.families import near
from tests.engine.zoo import FAMILIES, Zoo

CLOSE = 2e-5  # fp32, 8 layers, relative to logits of order ten (docs/methods/checks.md#rounding)
PROMPT = [5, 9, 33, 7, 60, 8, 21]
TREE = Draft((4, 9, 9, 30, 2, 7, 7), (-1, -1, 0, 0, 1, 2, 5), group=(0,) * 7)


@pytest.fixture(scope="module", params=[*FAMILIES, "gpt2"])
def model(request: pytest.FixtureRequest, zoo: Zoo) -> Model:
    """A random 8-layer model of each family, lean and generic."""
    return zoo.model(request.param)


def fresh(model: Model, tokens: list[int], draft: Draft = EMPTY) -> torch.Tensor:
    return model.session(96).forward(tokens, draft).logits


def reference(zoo: Zoo, family: str, tokens: list[int], **options: object) -> torch.Tensor:
    """Logits of transformers itself, one plain forward without cache [T, V]."""
    hf = (
        AutoModelForCausalLM.from_pretrained(zoo.path(family, **options), dtype=torch.float32)
        .eval()
        .requires_grad_(False)
    )
    with torch.inference_mode():
        return hf(torch.tensor([tokens])).logits[0]


def check_tree_equals_paths(model: Model, prefix: int = len(PROMPT), draft: Draft = TREE) -> None:
    """One tree pass gives at each node what a plain pass over its root-to-node path gives."""
    prompt = PROMPT[:prefix]
    session = model.session(96)
    if prefix > 2:
        session.forward(prompt[:-2])
    tree = session.forward(prompt, draft).logits
    assert tree.shape == (len(draft) + 1, model.vocab)
    for node in range(-1, len(draft)):
        alone = fresh(model, prompt + draft.path_tokens(node))
        assert near(tree[node + 1], alone[-1]) < CLOSE, f"node {node}"


def check_memo(model: Model, first: Draft, path: list[int], emit: int, second: Draft) -> None:
    """After any accepted path the next pass equals that of a new session, and feeds only what is new."""
    session = model.session(96)
    session.forward(PROMPT[:-1])
    session.forward(PROMPT, first)
    before = session.fed
    tokens = PROMPT + [first.tokens[i] for i in path] + [emit]
    again = session.forward(tokens, second).logits
    assert near(again, fresh(model, tokens, second)) < CLOSE
    unforeseen = 1  # the emitted token; it may happen to be a node as well, but the last token is always fed
    assert session.fed - before == unforeseen + len(second)
    assert session.cached == tokens


def paths(draft: Draft) -> list[list[int]]:
    """Every accepted path that a verdict can give, the empty one first."""
    found: list[list[int]] = [[]]
    for node in range(len(draft)):
        up = [node]
        while draft.parents[up[0]] >= 0:
            up.insert(0, draft.parents[up[0]])
        found.append(up)
    return found


# --- against transformers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", [*FAMILIES, "gpt2"])
def test_logits_equal_those_of_transformers(zoo: Zoo, family: str) -> None:
    model = zoo.model(family)
    assert model.lean == (family in ("llama", "qwen2", "qwen3"))
    theirs = reference(zoo, family, PROMPT)
    session = model.session(32)
    for n in range(1, len(PROMPT) + 1):  # token by token
        assert near(session.forward(PROMPT[:n]).logits[0], theirs[n - 1]) < CLOSE
    assert session.fed == len(PROMPT)
    block = model.session(32).forward(PROMPT[:1], chain(PROMPT[1:])).logits  # all at once
    assert near(block, theirs) < CLOSE


VARIANTS = [
    ("llama", {"rope_scaling": {"rope_type": "linear", "factor": 4.0}}),
    (
        "llama",
        {
            "rope_scaling": {
                "rope_type": "llama3",
                "factor": 8.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64,
            }
        },
    ),
    ("llama", {"rope_scaling": {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 64}}),
    ("llama", {"rope_scaling": {"rope_type": "dynamic", "factor": 4.0}}),
    ("llama", {"tie_word_embeddings": True}),
    ("llama", {"num_key_value_heads": 4, "attention_bias": True, "mlp_bias": True}),
    ("llama", {"num_key_value_heads": 1, "head_dim": 16}),
    ("qwen3", {"num_key_value_heads": 1, "head_dim": 20}),
    ("qwen2", {"tie_word_embeddings": True, "rope_theta": 1e6}),
]


@pytest.mark.parametrize(("family", "options"), VARIANTS, ids=lambda x: str(x)[:40])
def test_every_variant_of_the_lean_families(
    tmp_path_factory: pytest.TempPathFactory, family: str, options: dict[str, object]
) -> None:
    """Ropes, tied heads, biases, one or all key-value heads: against transformers over 100 positions, in a tree too."""
    from engine.model import load_model
    from tests.engine.zoo import make_model

    folder = make_model(tmp_path_factory.mktemp("variant"), family, layers=2, **options)  # type: ignore[arg-type]
    model = load_model(folder, "cpu")
    dynamic = "dynamic" in str(options)
    assert model.lean is not dynamic  # a rope that changes with the length cannot be tabled
    hf = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    assert model.parameters == sum(p.numel() for p in hf.parameters()) and model.bytes == 4 * model.parameters
    tokens = torch.randint(3, 96, (100,), generator=torch.Generator().manual_seed(0)).tolist()
    with torch.inference_mode():
        theirs = hf(torch.tensor([tokens])).logits[0]
    ours = model.session(120).forward(tokens[:1], chain(tokens[1:])).logits
    assert near(ours, theirs) < CLOSE
    check_tree_equals_paths(model)


def test_hidden_rows_and_taps_are_those_of_transformers(zoo: Zoo) -> None:
    """Taps are layer inputs before any norm (hidden_states[i]); `last` is the state after the final norm."""
    for family in ("llama", "qwen3", "gpt_neox"):
        model = zoo.model(family)
        hf = AutoModelForCausalLM.from_pretrained(zoo.path(family), dtype=torch.float32).eval().requires_grad_(False)
        with torch.inference_mode():
            states = hf(torch.tensor([PROMPT]), output_hidden_states=True).hidden_states
        session = model.session(40, taps=(5, 2, 4))
        out = session.forward(PROMPT[:3], chain(PROMPT[3:]))
        assert out.tail == 3 and out.taps is not None
        assert (
            near(out.taps, torch.cat([states[i][0] for i in (2, 4, 5)], -1)) < CLOSE
        )  # low to high, whatever the order asked
        assert near(out.last, states[-1][0]) < CLOSE and near(out.hidden, states[-1][0][2:]) < CLOSE
        assert near(model.decoder.head(out.hidden), out.logits) < CLOSE
        ids = torch.tensor(PROMPT)
        assert near(model.decoder.embed(ids), hf.get_input_embeddings()(ids)) == 0


# --- trees and the memo -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", [1, 2, 7])
def test_a_tree_equals_its_paths(model: Model, prefix: int) -> None:
    check_tree_equals_paths(model, prefix)


def test_the_memo_after_any_accepted_path(model: Model) -> None:
    for path in paths(TREE):
        check_memo(model, TREE, path, emit=50, second=Draft((1, 2, 3), (-1, -1, 1), group=(0,) * 3))


def test_the_memo_after_any_chain(model: Model) -> None:
    for accepted, second in itertools.product(range(5), (EMPTY, chain([8, 8]))):
        check_memo(model, chain([4, 9, 30, 2]), list(range(accepted)), 50, second)


@st.composite
def rounds(draw: st.DrawFn) -> list[tuple[Draft, int]]:
    """A few rounds: a random tree over few tokens (so that draft tokens repeat), and which node was last accepted."""
    found = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(0, 6))
        parents = tuple(draw(st.integers(-1, i - 1)) for i in range(n))
        tokens = tuple(draw(st.lists(st.integers(3, 6), min_size=n, max_size=n)))
        found.append((Draft(tokens, parents, group=(0,) * n), draw(st.integers(-1, n - 1))))
    return found


@pytest.fixture(scope="module", params=["llama", "gpt_neox"])
def shallow(request: pytest.FixtureRequest, zoo: Zoo) -> Model:
    return zoo.model(request.param, layers=2)


@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(plan=rounds())
def test_any_sequence_of_rounds(shallow: Model, plan: list[tuple[Draft, int]]) -> None:
    session, tokens = shallow.session(96), PROMPT[:3]
    for draft, node in plan:
        out = session.forward(tokens, draft)
        assert near(out.logits, fresh(shallow, tokens, draft)) < CLOSE
        tokens = [*tokens, *draft.path_tokens(node), 7]


@pytest.mark.parametrize("near_by", [30, 2048])
def test_a_kept_mask_serves_every_start(model: Model, near_by: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Chains of one length behind few tokens, many and few again: their mask is made once, grows and is cut; far from
    the beginning it is made each time."""
    monkeypatch.setattr(lean, "NEAR", near_by)
    for start in (2, 3, 40, 7, 2):
        text = (PROMPT * 6)[:start]
        session = model.session(96)
        session.forward(text)
        made = session.forward([*text, 7], chain([4, 9, 2], draw="point")).logits
        for n, row in enumerate(made):
            assert near(row, fresh(model, [*text, 7, 4, 9, 2][: start + 1 + n])[-1]) < CLOSE, f"behind {start}, row {n}"


def test_what_is_read_ahead_takes_the_place_of_a_draft(model: Model) -> None:
    """Its nodes are no longer in the slots behind the text, whatever the tokens that follow."""
    session = model.session(96)
    session.forward(PROMPT, TREE)
    for n, token in enumerate((4, 9), 1):
        assert near(session.ahead(torch.tensor([token])), fresh(model, [*PROMPT, *[4, 9][:n]])) < CLOSE
    session.told([4, 9])
    assert session.cached == [*PROMPT, 4, 9]
    assert near(session.ahead(torch.tensor([30])), fresh(model, [*PROMPT, 4, 9, 30])) < CLOSE
    session.told([30])
    for text in ([*PROMPT, 4, 9, 30, 2], [*PROMPT, 4, 9, 9, 2]):
        assert near(session.forward(text).logits, fresh(model, text)) < CLOSE


def test_leaving_the_path_recomputes_from_there(model: Model) -> None:
    """Another text, a shorter one, and the same one again: always right, and the common prefix is kept."""
    session = model.session(96)
    session.forward(PROMPT, TREE)
    for tokens, fed in ((PROMPT, 1), (PROMPT[:4], 1), ([*PROMPT[:3], 40, 41], 2), ([88, 3], 2), (PROMPT, len(PROMPT))):
        before = session.fed
        assert near(session.forward(tokens).logits, fresh(model, tokens)) < CLOSE
        assert session.fed - before == fed


def test_a_session_is_a_function_of_its_arguments(model: Model) -> None:
    """Two sessions on the same weights do not disturb each other, and outputs are not overwritten later."""
    a, b = model.session(64), model.session(96)
    first = a.forward(PROMPT, TREE).logits
    kept = copy.deepcopy(first)
    b.forward([1, 2, 3], chain([4]))
    a.forward([*PROMPT, 4], chain([5]))
    assert torch.equal(first, kept)


# --- limits -----------------------------------------------------------------------------------------------------------


def test_capacity_is_exact(model: Model) -> None:
    session = model.session(len(PROMPT) + len(TREE))
    session.forward(PROMPT, TREE)
    with pytest.raises(ConfigError, match="do not fit"):
        session.forward([*PROMPT, 1], TREE)
    assert near(session.forward(PROMPT).logits, fresh(model, PROMPT)) < CLOSE  # still usable
    assert model.session(10**6).capacity == model.context


def test_no_tokens_are_refused(model: Model) -> None:
    with pytest.raises(ConfigError, match="at least one"):
        model.session(8).forward([])


def test_padding_rows_are_cut_to_the_common_vocabulary(zoo: Zoo) -> None:
    session = zoo.model("llama").session(32)
    session.vocab = 80
    out = session.forward(PROMPT, chain([5]))
    assert out.logits.shape == (2, 80) and near(out.logits, fresh(zoo.model("llama"), PROMPT, chain([5]))[:, :80]) == 0


@pytest.mark.parametrize("dtype", (torch.float32, torch.float64, torch.bfloat16, torch.float16))
def test_one_nan_is_found_wherever_it_is_and_infinities_are_none(dtype: torch.dtype) -> None:
    sound = torch.randn(3, 40, generator=torch.Generator().manual_seed(1)).to(dtype)
    sound[0, :5], sound[2, 7] = -torch.inf, torch.inf
    for fine in (sound, sound[:, 1:], sound[:0], torch.full((2, 3), -torch.inf, dtype=dtype)):
        check_finite(fine)
    for row, place in itertools.product(range(3), (0, 4, 7, 21, 39)):
        faulty = sound.clone()
        faulty[row, place] = torch.nan
        with pytest.raises(EngineFault, match="The draft model returned NaN"):
            check_finite(faulty, "draft model")


def test_nan_logits_end_the_run(zoo: Zoo) -> None:
    broken = copy.copy(zoo.model("llama"))
    broken.decoder = copy.copy(broken.decoder)
    broken.decoder.lm_head = Product(broken.decoder.lm_head.weight * torch.nan)  # type: ignore[attr-defined]
    with pytest.raises(EngineFault, match=r"The model returned NaN .*in that already, its weights are at fault"):
        broken.session(32).forward(PROMPT)
    drafting = broken.session(32)
    drafting.proposes = True
    with pytest.raises(EngineFault, match="The draft model returned NaN"):
        drafting.forward(PROMPT * 4)  # more rows than go through numpy


def test_a_failed_pass_leaves_a_usable_session(zoo: Zoo, monkeypatch: pytest.MonkeyPatch) -> None:
    model = zoo.model("llama")
    session = model.session(64)
    session.forward(PROMPT, TREE)

    def fail(*_: object) -> None:
        raise torch.OutOfMemoryError("no memory")

    with monkeypatch.context() as patch:
        patch.setattr(session.decoder, "run", fail)
        with pytest.raises(torch.OutOfMemoryError):
            session.forward([*PROMPT, 4, 9, 1], TREE)
    assert near(session.forward([*PROMPT, 4, 9, 1], TREE).logits, fresh(model, [*PROMPT, 4, 9, 1], TREE)) < CLOSE


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 5e-6), ("bfloat16", 0.15), ("float16", 0.03)])
def test_other_precisions(zoo: Zoo, dtype: str, tolerance: float) -> None:
    """Half types within what shapes alone change (docs/methods/checks.md#rounding); transformers' norms are fp32 even in float64."""
    model = zoo.load(zoo.path("qwen3"), dtype)
    hf = AutoModelForCausalLM.from_pretrained(zoo.path("qwen3"), dtype=getattr(torch, dtype)).eval()
    with torch.inference_mode():
        theirs = hf(torch.tensor([PROMPT])).logits[0]
    out = model.session(32).forward(PROMPT[:2], chain(PROMPT[2:])).logits
    assert out.dtype == theirs.dtype and near(out.double(), theirs[1:].double()) < tolerance
    assert isinstance(model.session(8), Session) and model.dtype == dtype
    if dtype == "float64":  # ours are not: a tree equals its paths to twelve digits
        tree = model.session(64).forward(PROMPT, TREE).logits
        for node in range(len(TREE)):
            assert near(tree[node + 1], fresh(model, PROMPT + TREE.path_tokens(node))[0]) < 1e-12
