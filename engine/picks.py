"""Methods that are worth choosing together."""

REFERENCE = "ar"
FIVE = ("easd", "heterospec", "cm_asd", "stand", "autojudge")  # one method a paper
FAMILIES = ("sd", "eagle3", "sam", "autojudge")  # with the reference, one of each family
PICKS = {"One of each family": (REFERENCE, *FAMILIES), "The five papers": (REFERENCE, *FIVE)}
