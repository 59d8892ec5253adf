"""docs/api holds what users call; `make check` tells whether it is what the docstrings say."""

from tests.apidocs import FOLDER, MODULES


def test_it_names_what_users_call():
    found = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.md")}
    for name, wanted in {
        "engine-lab.md": ("Lab.load", "Lab.run", "Lab.stream", "Raises"),
        "engine-trace-events.md": ("Node", "top_draft", "RunEnded"),
        "engine-runs-asking.md": ("0 is greedy", "any whole number, below 0 too"),  # comments of fields
        "engine-parts-protocols.md": ("Drafter", "Shape", "Rule"),
    }.items():
        assert all(word in found[name] for word in wanted), name
    assert set(found) == {"README.md", *(f"{name.replace('.', '-')}.md" for name in MODULES)}
