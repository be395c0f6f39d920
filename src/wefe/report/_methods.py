"""What the report says about methods: what a score means, and where it is from."""

from __future__ import annotations

from typing import NamedTuple


class Method(NamedTuple):
    """A method for readers who have never heard of it.

    Attributes
    ----------
    meaning : str
        What it measures or does, in a sentence or two.
    reference : str
        The publication.
    """

    meaning: str
    reference: str


_CALISKAN = (
    "A. Caliskan, J. J. Bryson and A. Narayanan. Semantics derived automatically from language "
    "corpora contain human-like biases. Science 356, 2017."
)
_BOLUKBASI = (
    "T. Bolukbasi, K.-W. Chang, J. Zou, V. Saligrama and A. Kalai. Man is to Computer Programmer "
    "as Woman is to Homemaker? Debiasing Word Embeddings. NIPS 2016."
)
_KUMAR = (
    "V. Kumar, T. S. Bhotia and T. Chakraborty. Nurse is Closer to Woman than Surgeon? "
    "Mitigating Gender-Biased Proximities in Word Embeddings. TACL 8, 2020."
)
_GONEN = (
    "H. Gonen and Y. Goldberg. Lipstick on a Pig: Debiasing Methods Cover up Systematic Gender "
    "Biases in Word Embeddings But do not Remove Them. NAACL-HLT 2019."
)
_MANZINI = (
    "T. Manzini, Y. C. Lim, A. W. Black and Y. Tsvetkov. Black is to Criminal as Caucasian is to "
    "Police: Detecting and Removing Multiclass Bias in Word Embeddings. NAACL-HLT 2019."
)
_DEV = "S. Dev and J. Phillips. Attenuating Bias in Word Vectors. AISTATS 2019."

#: Kind of an audit warning -> what it means.
WARNINGS: dict[str, str] = {
    "cancelling-biases": "words of a set are biased to opposite sides, which a mean does not show",
    "common-lean": "both target sets lean to the same attribute, which a difference does not show",
    "dominated": "the bias direction is that of a few definitional sets, not common to all",
    "effect-without-separation": "the effect is large, but the words are hardly ordered by it",
    "few-sets": "there are too few definitional sets to say that they share a direction",
    "few-words": "there are too few words for any p-value to be small",
    "identical-members": "a definitional set has words with the same vector, and is left out",
    "large-but-not-significant": "the effect is large, but chance could do the same with the words",
    "large-effect-tiny-biases": "the effect size is large, but no word has a bias to speak of",
    "lost-sets": "definitional sets are left out, as the model lacks words of theirs",
    "low-correlation": "the definitional sets point in different directions",
    "unequal-sets": "the target sets differ in size, which moves a sum over their words",
    "mean-difference": "other ways to find the bias direction give another one",
    "not-audited": "the score could not be audited",
    "opposed-sets": "some definitional sets point the other way round than the rest",
    "other-direction": "the effect is in the direction that the one-sided test does not look at",
    "outliers": "some definitional sets differ much from the others",
    "repeated-sets": "a definitional set repeats another one, and so counts twice",
    "separation-missed": "the words of the two sets are told apart, which the score hardly shows",
    "shared-lean": "the words of a set lean to one side together, which ECT does not see",
    "small-attribute-difference": "the attribute sets are so alike that no bias can be large",
    "undefined-effect-size": "all target words have the same bias, so the effect size is undefined",
    "unstable": "the bias direction turns when a single definitional set is left out",
    "weak-first-component": "one direction does not stand for the definitional sets",
}

#: Name of a mitigation method in study files -> the method.
MITIGATIONS: dict[str, Method] = {
    "hard-debias": Method(
        "Removes the bias direction from every word that should be neutral, and makes pairs "
        "equally far from them.",
        _BOLUKBASI,
    ),
    "soft-debias": Method(
        "Lowers what lies along the bias direction as far as it costs little similarity.",
        _BOLUKBASI,
    ),
    "multiclass-hard-debias": Method("Hard debiasing for any number of classes.", _MANZINI),
    "multiclass-soft-debias": Method("Soft debiasing for any number of classes.", _MANZINI),
    "double-hard-debias": Method(
        "Removes what encodes the frequency of words first, and the bias direction then.",
        "T. Wang, X. V. Lin, N. F. Rajani, B. McCann, V. Ordonez and C. Xiong. Double-Hard Debias: "
        "Tailoring Word Embeddings for Gender Bias Mitigation. ACL 2020.",
    ),
    "half-sibling-regression": Method(
        "Subtracts from each word what definitional words predict of it.",
        "Z. Yang and J. Feng. A Causal Inference Method for Reducing Gender Bias in Word Embedding "
        "Relations. AAAI 2020.",
    ),
    "inlp": Method(
        "Removes, again and again, what linear classifiers tell the classes apart by.",
        "S. Ravfogel, Y. Elazar, H. Gonen, M. Twiton and Y. Goldberg. Null It Out: Guarding "
        "Protected Attributes by Iterative Nullspace Projection. ACL 2020.",
    ),
    "leace": Method(
        "The smallest change after which no linear classifier finds the classes.",
        "N. Belrose, D. Schneider-Joseph, S. Ravfogel, R. Cotterell, E. Raff and S. Biderman. "
        "LEACE: Perfect linear concept erasure in closed form. NeurIPS 2023.",
    ),
    "linear-projection": Method("Removes the bias direction from every word.", _DEV),
    "oscar": Method(
        "Turns the bias direction and a concept until they are orthogonal; both stay.",
        "S. Dev, T. Li, J. M. Phillips and V. Srikumar. OSCaR: Orthogonal Subspace Correction and "
        "Rectification of Biases in Word Embeddings. EMNLP 2021.",
    ),
    "repulsion-attraction-neutralization": Method(
        "Moves words away from biased neighbours and from the bias direction, but not far.",
        _KUMAR,
    ),
}

FRAMEWORK = (
    "P. Badilla, F. Bravo-Marquez and J. Pérez. WEFE: The Word Embeddings Fairness Evaluation "
    "Framework. IJCAI 2020."
)
SILHOUETTES = (
    "M. Spliethöver and H. Wachsmuth. Bias Silhouette Analysis: Towards Assessing the Quality of "
    "Bias Metrics for Word Embedding Models. IJCAI 2021."
)
AUDITS = (
    "S. Schröder, A. Schulz, F. Hinder and B. Hammer. Semantic Properties of Cosine Based Bias "
    "Scores for Word Embeddings. ICPRAM 2024."
)
BOOTSTRAP = (
    "B. Efron. Better Bootstrap Confidence Intervals. Journal of the American Statistical "
    "Association 82, 1987."
)

AGGREGATIONS = {
    "bias_avg": "the mean distance of the scores from the value that means no bias",
    "abs_avg": "the mean of the absolute scores",
    "avg": "the mean of the scores, in which opposite signs cancel",
    "sum": "the sum of the scores, in which opposite signs cancel",
    "abs_sum": "the sum of the absolute scores",
}
TIES = {
    "min": "the best of the ranks that they take up",
    "max": "the last of the ranks that they take up",
    "average": "the average of the ranks that they take up",
    "first": "ranks in the order in which they are listed",
    "dense": "one rank, and the next model the following one",
}
