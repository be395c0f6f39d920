"""The metrics once more, word by word and number by number, as their definitions read.

Nothing here is fast, and nothing is shared with the package: that is the point.
`tests/metrics/conftest.py` makes this module the fixture `literal`.
"""

import itertools
import math

import numpy as np
from scipy import optimize, stats


def dot(u, v):
    return math.fsum(x * y for x, y in zip(u, v, strict=True))


def length(u):
    return math.sqrt(dot(u, u))


def cosine(u, v):
    return dot(u, v) / (length(u) * length(v))


def difference(u, v):
    return [x - y for x, y in zip(u, v, strict=True)]


def unit(u):
    return [x / length(u) for x in u]


def mean(numbers):
    numbers = list(numbers)
    return math.fsum(numbers) / len(numbers)


def mean_vector(vectors):
    return [mean(column) for column in zip(*vectors, strict=True)]


def deviation(numbers, ddof=0):
    return float(np.std(list(numbers), ddof=ddof))


def association(w, a, b):
    """Mean cosine with the words of `a` minus mean cosine with the words of `b`."""
    return mean(cosine(w, word) for word in a) - mean(cosine(w, word) for word in b)


def weat(x, y, a, b):
    return math.fsum(association(w, a, b) for w in x) - math.fsum(association(w, a, b) for w in y)


def weat_effect_size(x, y, a, b, ddof=0):
    s_x = [association(w, a, b) for w in x]
    s_y = [association(w, a, b) for w in y]
    return (mean(s_x) - mean(s_y)) / deviation(s_x + s_y, ddof)


def p_value(x, y, alternative):
    """Share of all splits of the values that are at least as extreme; ties count."""
    pool = [*x, *y]
    observed = mean(x) - mean(y)
    # The largest difference of two sums that is a tie, in units of a difference of means.
    tolerance = 0.5e-12 * max(1.0, abs(math.fsum(x) - math.fsum(y))) * (1 / len(x) + 1 / len(y))
    hits = total = 0
    for chosen in itertools.combinations(range(len(pool)), len(x)):
        first = math.fsum(pool[i] for i in chosen)
        statistic = first / len(x) - (math.fsum(pool) - first) / len(y)
        total += 1
        hits += {
            "greater": statistic >= observed - tolerance,
            "less": statistic <= observed + tolerance,
            "two-sided": abs(statistic) >= abs(observed) - tolerance,
        }[alternative]
    return hits / total


def rnd_by_word(t1, t2, a, distance="norm"):
    mean_1, mean_2 = mean_vector(t1), mean_vector(t2)
    if distance == "norm":
        return [length(difference(w, mean_1)) - length(difference(w, mean_2)) for w in a]
    sign = {"cos": 1, "cos_distance": -1}[distance]
    return [sign * (cosine(w, mean_1) - cosine(w, mean_2)) for w in a]


def kl_from_uniform(probabilities):
    """Kullback-Leibler divergence of the normalised probabilities from the uniform distribution."""
    return float(stats.entropy(probabilities, np.ones(len(probabilities))))


def logistic_regression(positive, negative, penalise_intercept, c=1.0):
    """Minimise 1/2 ||w||^2 (+ 1/2 b^2) + C sum ln(1 + exp(-y (w.x + b))); positive words are +1.

    liblinear penalises the intercept, the other solvers of scikit-learn do not.
    """
    x = np.array([[*word, 1.0] for word in [*positive, *negative]])
    y = np.array([1.0] * len(positive) + [-1.0] * len(negative))
    penalty = np.ones(x.shape[1])
    penalty[-1] = float(penalise_intercept)

    def objective(w):
        return 0.5 * (penalty * w) @ w + c * np.logaddexp(0, -y * (x @ w)).sum()

    def gradient(w):
        return penalty * w - c * x.T @ (y / (1 + np.exp(y * (x @ w))))

    found = optimize.minimize(
        objective, np.zeros(x.shape[1]), jac=gradient, method="BFGS", options={"gtol": 1e-10}
    )
    return found.x[:-1].tolist(), float(found.x[-1])


def negative_probabilities(words, positive, negative, penalise_intercept):
    w, b = logistic_regression(positive, negative, penalise_intercept)
    return [1 / (1 + math.exp(dot(w, word) + b)) for word in words]


def mac(targets, attributes, average="sets"):
    by_word = []
    for word in itertools.chain(*targets):
        distances = [[1 - cosine(word, other) for other in part] for part in attributes]
        if average == "sets":
            by_word.append(mean(mean(part) for part in distances))
        else:
            by_word.append(mean(itertools.chain(*distances)))
    return mean(by_word)


average_ranks = stats.rankdata


def pearson(x, y):
    return float(stats.pearsonr(x, y).statistic)


def ect(t1, t2, a):
    similarities = [[cosine(mean_vector(part), word) for word in a] for part in (t1, t2)]
    return pearson(*(average_ranks(numbers) for numbers in similarities))


def ripa_by_pair(t1, t2, a):
    relations = [unit(difference(x, y)) for x, y in zip(t1, t2, strict=True)]
    return [[dot(word, relation) for relation in relations] for word in a]


def ripa(t1, t2, a):
    return mean(mean(row) for row in ripa_by_pair(t1, t2, a))


def principal_directions(defining_sets, normalize=True):
    """Eigenvectors of the covariance of tuples centred on their own means, largest first.

    Signs are arbitrary. Returns them with the shares of the variance.
    """
    dim = len(defining_sets[0][0])
    covariance = np.zeros((dim, dim))
    for members in zip(*defining_sets, strict=True):
        vectors = [unit(v) if normalize else list(v) for v in members]
        centre = mean_vector(vectors)
        for vector in vectors:
            row = np.array(difference(vector, centre))
            covariance += np.outer(row, row)
    variances, directions = np.linalg.eigh(covariance)
    return directions.T[::-1].tolist(), (variances[::-1] / variances.sum()).tolist()


def direct_bias(words, directions, c=1.0):
    values = []
    for word in words:
        share = math.sqrt(math.fsum(cosine(word, g) ** 2 for g in directions))
        values.append(0.0 if share == 0 else share**c)
    return mean(values)


def mean_unit(vectors):
    return mean_vector([unit(v) for v in vectors])


def same_directions(groups):
    """Differences of the means from the first one, each made orthogonal to the earlier ones."""
    directions = []
    for group in groups[1:]:
        rest = difference(mean_unit(groups[0]), mean_unit(group))
        for earlier in directions:
            share = dot(rest, earlier) / dot(earlier, earlier)
            rest = [x - share * y for x, y in zip(rest, earlier, strict=True)]
        directions.append(rest)
    return directions


def same_by_word(words, groups, combine="sum"):
    first, *others = same_directions(groups)
    if combine == "projection":
        return [
            math.sqrt(math.fsum(cosine(word, b) ** 2 for b in (first, *others))) for word in words
        ]
    return [
        abs(cosine(word, first)) + math.fsum(abs(cosine(word, b)) * length(b) for b in others)
        for word in words
    ]


def generalized_weat(targets, attributes):
    means_x = [mean_unit(part) for part in targets]
    means_a = [mean_unit(part) for part in attributes]
    mu_x, mu_a = mean_vector(means_x), mean_vector(means_a)
    return math.fsum(
        dot(difference(x, mu_x), difference(a, mu_a)) for x, a in zip(means_x, means_a, strict=True)
    )


def indirect_bias(w, v, basis):
    """Share of the cosine of two words that is gone without the directions of the basis."""
    rest_w, rest_v = unit(w), unit(v)
    for direction in basis:
        rest_w, rest_v = (
            [x - dot(rest, direction) * b for x, b in zip(rest, direction, strict=True)]
            for rest in (rest_w, rest_v)
        )
    return (cosine(w, v) - cosine(rest_w, rest_v)) / cosine(w, v)


def neighborhoods(model, words, g, k, original=None, exclude=()):
    """Neighbours, their indirect bias and their projections, word by word and pair by pair."""
    original, names = original or model, []
    for word in words:
        others = [
            (-cosine(model[word], model[other]), row, other)
            for row, other in enumerate(model.vocab)
            if other != word and other not in exclude
        ]
        names.append([other for _, _, other in sorted(others)[:k]])
    pairs = [
        [(original[word], original[other]) for other in near]
        for word, near in zip(words, names, strict=True)
    ]
    betas = [[indirect_bias(w, v, [g]) for w, v in row] for row in pairs]
    return names, np.array(betas), np.array([[dot(unit(v), g) for _, v in row] for row in pairs])


def gipe(words, names, betas, theta):
    """Kumar et al., a loop over all edges."""
    eta = [sum(beta > theta for beta in of_word) / len(of_word) for of_word in betas]
    gamma = []
    for word in words:
        incoming = [
            beta
            for other, near, of_other in zip(words, names, betas, strict=True)
            for name, beta in zip(near, of_other, strict=True)
            if name == word and other != word
        ]
        biased = sum(beta > theta for beta in incoming)
        gamma.append(1 + biased / len(incoming) if incoming else 1)
    return sum(e * w for e, w in zip(eta, gamma, strict=True)) / sum(gamma), eta, gamma


def eqt_hits(vectors, pairs, words, *, k=1, variants=None, both=False):
    """Every question by itself, every candidate by itself: the hits, word by word."""
    gendered = {word for pair in pairs for word in pair}
    asked = list(pairs) + ([pair[::-1] for pair in pairs] if both else [])
    hits = []
    for s, (m, f) in itertools.product(words, asked):
        accepted = {s, *(variants or {}).get(s, [])}
        turned = difference(unit(vectors[s]), unit(vectors[m]))
        q = [x + y for x, y in zip(turned, unit(vectors[f]), strict=True)]
        allowed = (set(vectors) - gendered) | accepted
        ranked = sorted(allowed & set(vectors), key=lambda word, q=q: -cosine(q, vectors[word]))
        hits.append(bool(accepted & set(ranked[:k])))
    return hits
