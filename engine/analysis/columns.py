"""The columns of the three tables: name, unit and one sentence each. A value that is unknown is missing, never 0."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Column:
    """One column; `dtype` is pandas' name, nullable where the value may be missing."""

    name: str
    dtype: str
    unit: str
    help: str


RUN = Column("run", "str", "", "Id of the run.")
LANE = Column("lane", "str", "", "The method's name, of its second run `sd.2`, and so on.")
LABEL = Column("label", "str", "", "The title of the method, with what tells its runs apart.")
EXTRA = Column("x_*", "", "", "Extras of the method's rounds; missing where a round has none of that name.")

TOKENS = (
    Column("method", "str", "", "Name of the method of the run."),
    Column("pos", "int64", "tokens", "Position in the response, from 0."),
    Column("token", "int64", "id", "Id of the emitted token."),
    Column("piece", "str", "", "Text of the token."),
    Column("origin", "str", "", "Where it came from: draft, relaxed, correction, bonus, target or placed."),
    Column("round", "int64", "index", "Round (target call) that emitted it."),
    Column(
        "node",
        "Int64",
        "index",
        "The draft token it stems from, within its round; missing for the target's own tokens.",
    ),
    Column("h_draft", "float64", "nats", "Entropy of the draft's raw distribution at this position, full vocabulary."),
    Column(
        "h_target", "float64", "nats", "Entropy of the target's raw distribution at this position, full vocabulary."
    ),
)

NODES = (
    Column("method", "str", "", "Name of the method of the run."),
    Column("round", "int64", "index", "Round (target call) of the draft token."),
    Column("node", "int64", "index", "Number of the draft token within its round."),
    Column("token", "int64", "id", "Id of the draft token."),
    Column("piece", "str", "", "Text of the draft token; missing when the trace does not give it."),
    Column(
        "parent", "int64", "index", "Node this draft token follows; -1 is the round's root, the last committed token."
    ),
    Column("depth", "int64", "tokens", "Distance from the root; 1 for its children."),
    Column("rank", "Int64", "", "Place by cumulative draft log-probability within the round, from 1."),
    Column("q", "float64", "probability", "Its probability under the distribution the draft token was drawn from."),
    Column("score", "float64", "nats", "Cumulative draft log-probability from the root down."),
    Column("h_draft", "float64", "nats", "Entropy of the draft's raw distribution where it drafted, full vocabulary."),
    Column(
        "h_target",
        "float64",
        "nats",
        "Entropy of the target's raw distribution that judges the draft token, full vocabulary.",
    ),
    Column("overlap", "float64", "share", "Share of the first n tokens that draft and target have in common."),
    Column(
        "p",
        "float64",
        "probability",
        "The target's probability: of the sampled distribution, or the raw distribution when greedy.",
    ),
    Column("accept_prob", "float64", "probability", "Probability with which the rule accepts the draft token."),
    Column("u", "float64", "probability", "The uniform drawn for accept_prob; in a greedy run it decides nothing."),
    Column(
        "state",
        "str",
        "",
        "accepted, rejected, discarded (never tested, or behind what stays of a block or text), relaxed or vetoed.",
    ),
    Column("rule", "str", "", "Name of the rule that decided; missing when nothing did."),
    Column("reason", "object", "", "The inputs of the decision; `id` names its kind."),
    Column("source", "object", "", "What proposed the draft token: a model, an n-gram order, a head."),
    Column("judge", "float64", "probability", "Importance given by a judge; missing when it was not asked."),
    Column("confidence", "float64", "share", "Confidence of the draft in the draft token."),
    Column("margin", "float64", "nats", "log p of the target's first choice minus log p of the draft token."),
    Column(
        "top_draft", "object", "probability", "The draft's first tokens: a list of (id, probability), raw distribution."
    ),
    Column(
        "top_target",
        "object",
        "probability",
        "The target's first tokens: a list of (id, probability), raw distribution.",
    ),
)

ROUNDS = (
    Column("method", "str", "", "Name of the method of the run."),
    Column("round", "int64", "index", "Number of the round, which is one target call; the prefill is outside."),
    Column("start", "int64", "tokens", "Response tokens committed before the round."),
    Column("drafted", "int64", "nodes", "Draft tokens of the round, its root excluded."),
    Column("fed", "int64", "tokens", "Tokens given to the target, the root included."),
    Column("levels", "int64", "tokens", "Depth of the draft."),
    Column("accepted", "int64", "tokens", "Draft tokens that were accepted, relaxed ones included."),
    Column("emitted", "int64", "tokens", "Tokens the round added to the response."),
    Column(
        "tcr",
        "Int64",
        "",
        "Rank of the last accepted draft token of the round; 0 for none, missing where nothing was drafted.",
    ),
    Column("draft_ms", "float64", "ms", "Time in the drafter."),
    Column("verify_ms", "float64", "ms", "Time in the target."),
    Column("other_ms", "float64", "ms", "Time in neither: the rule, bookkeeping, recording."),
)
