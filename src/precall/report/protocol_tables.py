"""How results came about, in tables."""

import os
import time
from collections.abc import Mapping
from datetime import UTC, datetime

from precall.report.words import estimator_in_words, in_words
from precall.results.evaluation import Evaluation, Protocol
from precall.results.protocol_sentence import names_by_k
from precall.results.tables import Table, if_known

_OBJECTS = {  # where features came from, if from no file
    "numpy.ndarray": "an array",
    "torch.Tensor": "a tensor",
    "pandas.DataFrame": "a data frame",
    "polars.DataFrame": "a data frame",
    "pyarrow.Table": "a table",
    "builtins.list": "a list",
}


def protocol_tables(results: Mapping[str, Evaluation]) -> list[Table]:
    """Return what was done alike for all models, and what was not if there is such; and when."""
    facts = [_facts(result) for result in results.values()]
    rows = {key: [of_result[key] for of_result in facts] for key in facts[0]}
    alike = [[key, cells[0]] for key, cells in rows.items() if len(set(cells)) == 1 and cells[0]]
    alike.append(["page written on", _today()])
    other = [[key, *cells] for key, cells in rows.items() if len(set(cells)) > 1]
    found = [Table("Protocol", ["what", "of all models" if len(facts) > 1 else "how"], alike)]
    return found + [Table("Protocol, model by model", ["what", *results], other)] * bool(other)


def _today() -> str:
    """Return the date in UTC, or that of SOURCE_DATE_EPOCH for pages that are built again."""
    seconds = float(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


def _facts(result: Evaluation) -> dict[str, str]:
    """Return what is known of a result; nothing where there is nothing to tell."""
    p, scores = result.protocol, result.scores.items()
    estimators = [estimator_in_words(*named) for named in p.estimators.items()]
    k_of_scores = [(name.removesuffix(f"_k{s.k}"), if_known(s.k, str)) for name, s in scores]
    confidence = result.confidence
    return {
        "real samples": _samples(p, "real", p.n),
        "generated samples": _samples(p, "generated", p.m),
        "features": f"{p.d}, {p.dtype}",
        **_extraction(p),
        "curves": "; ".join(estimators),
        "k of the curves": names_by_k(((name, p.shown_k(name)) for name in p.estimators), in_words),
        "chosen": "; ".join(f"{in_words(name)}: {', '.join(c)}" for name, c in p.choices.items()),
        "split": p.split,
        "k of the scores": names_by_k(k_of_scores, in_words),
        "scores as": f"{p.convention} ({p.tie_rule.replace('<=', '≤')})",
        "confidence of intervals": "" if confidence is None else f"{100 * confidence:.4g} %",
        "seed": str(p.seed),
        "engine": p.engine,
        "versions": ", ".join(f"{name} {version}" for name, version in p.versions.items()),
        "fingerprint of real": p.fingerprints.get("real", ""),
        "fingerprint of generated": p.fingerprints.get("generated", ""),
    }


def _extraction(protocol: Protocol) -> dict[str, str]:
    """How features were made: once if of both sides alike."""
    texts = {role: _made(how) for role, how in protocol.extraction.items()}
    alike = len(set(texts.values())) <= 1
    shown = next(iter(texts.values()), "") if alike else ""
    sides = {} if alike else texts
    names = {role: f"features of {role} extracted with" for role in ("real", "generated")}
    return {"features extracted with": shown} | {
        name: sides.get(role, "") for role, name in names.items()
    }


def _made(how: Mapping[str, str]) -> str:
    weights = how.get("weights", "none")
    parts = [
        f"{how.get('model')}, version {how.get('version')}",
        how.get("preprocessing", ""),
        "" if weights == "none" else f"weights SHA-256 {weights}",
        how.get("libraries", ""),
        "" if how.get("skipped", "0") == "0" else f"{how['skipped']} inputs left out",
    ]
    return "; ".join(part for part in parts if part)


def _samples(protocol: Protocol, role: str, number: int) -> str:
    source = protocol.sources.get(role, "")
    return f"{number}, from {_OBJECTS.get(source, source)}" if source else str(number)
