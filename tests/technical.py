"""Technical words, and whether the glossaries of the documents and of the page explain them."""

from __future__ import annotations

import ast
import html
import re
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
GLOSSARIES = (ROOT / "docs" / "glossary.md", ROOT / "src" / "peerveil" / "web" / "templates" / "glossary.html")

#: Technical words as patterns, used at present or not. Each that page, reports or charts use must be explained: add
#: to this list whatever a chair may not know, and explain it in both glossaries or use a plainer word.
TERMS = (
    *("releases?", "means?", "quantity", "ratings", "miscalibration", "normalized", "subjectivity", "loads?", "ranks?"),
    *("lenien(?:t|cy)", "strict(?:est)?", "findings?", "tracks?", "criteri(?:a|on)", "public record", "assignments?"),
    *("promise", "claim", "epsilon", "delta", "odds", "differential privacy", "unit", "neighbours?", "noise", "bins?"),
    *("mechanism", "histogram", "Laplace", "Gaussian", "budgets?", "ledger", "data set", "charged?", "regions?"),
    *("estimator", "projection", "safe", "bayes", "expected error", "root mean square", "standard deviation"),
    *("variance", "bands?", "credible", "intervals?", "proven bounds?", "public data alone", "verdict", "informative"),
    *("adds some", "adds nothing", "as by chance", "plan", "verify", "refine", "signature", "posterior", "sensitivity"),
    *("quantiles?", "percentiles?", "likelihood", "prior", "isotonic", "Lipschitz", "p-value", "significance"),
    *("vectors?", "tight", "chain", "digest", "schema", "certificate", "metadata", "mapping", "load counts", "clipped"),
    *("medians?", "deciles?", "correlat(?:e|ion)", "intraclass correlation", "randomised", "subreviewers?", "weights?"),
    *(
        "domain",
        "invariants?",
        "measure",
        "standard errors?",
        "Croissant",
        "BibTeX",
        "pooled prior",
        "statistic",
        "odds",
    ),
    *("spread", "disagreement", "concentrated", "approximate", "pure", "covariance", "hyperparameters?", "entropy"),
    *("kurtosis", "bootstrap", "Lagrangian", "convex", "stochastic", "heteroscedastic", "kernel", "Wasserstein"),
    *(
        "confidence",
        "regression",
        "regulari[sz]ation",
        "latent",
        "Renyi",
        "zCDP",
        "perturb(?:ed|ation)",
        "hash",
        "SHA-256",
    ),
    *("pseudonym(?:s|ous)?", "metareviews?", "attributes?", "effects?", "randomisation test"),
    *("checksums?", "payload", "token", "Boolean", "null", "percentages? points?", "strata", "Spearman", "quadratic"),
)


#: What a glossary explains: its entries, and words in italics.
_ENTRY = re.compile(r"^\*\*(.+?)\.\*\*|(?<!\*)\*([^*]+)\*(?!\*)|<dt>(.+?)</dt>|<em>(.+?)</em>", re.MULTILINE)

#: Packages and modules whose sentences neither page nor reports quote: those of the command line, and messages to
#: whoever writes JSON, mappings or ledgers by other programs. All others may be shown to a chair or a reader.
NOT_SHOWN = (
    *("cli/", "simulation/", "app/batch/", "private/batch/", "private/audit/", "support/", "planning/linked.py"),
    *("private/linked/", "releases/linked/", "inference/linked/", "inference/pooling/opinions.py"),
    *("privacy/stated_facts.py", "private/ledger/checking.py", "private/ledger/tables.py"),
    *("private/readers/mapping.py", "releases/documents.py", "releases/pooling.py", "releases/withdrawal.py"),
)


def _literals(module: Path) -> list[str]:
    """The texts of several words in a module that are no documentation."""
    tree = ast.parse(module.read_text(encoding="utf-8"))
    notes = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and isinstance(node.body[0], ast.Expr):
            notes.add(id(node.body[0].value))
    constants = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and id(node) not in notes)
    return [node.value for node in constants if isinstance(node.value, str) and " " in node.value.strip()]


def terms_in(text: str) -> list[str]:
    """The technical words that occur in a text."""
    return [term for term in TERMS if re.search(rf"\b(?:{term})\b", text, re.IGNORECASE)]


def unexplained(terms: list[str]) -> list[tuple[str, str]]:
    """Those that are an entry or in italics in not every glossary, each with the glossary."""
    missing = []
    for file in GLOSSARIES:
        text = html.unescape(file.read_text(encoding="utf-8"))
        explained = " | ".join(" ".join(entry) for entry in _ENTRY.findall(text))
        missing += [(term, file.name) for term in terms if not re.search(rf"\b(?:{term})\b", explained, re.IGNORECASE)]
    return missing


@cache
def shown_words() -> dict[str, str]:
    """What page, reports, charts and messages say, by file: of templates, files of words, and modules."""
    source = ROOT / "src" / "peerveil"
    said = {}
    for file in (*source.glob("web/templates/*.html"), *source.glob("reporting/templates/*.html")):
        text = re.sub(r"<style.*?</style>|\{#.*?#\}", " ", file.read_text(encoding="utf-8"), flags=re.DOTALL)
        code = " ".join(re.findall(r"\{[{%].*?[%}]\}", text, re.DOTALL))
        quoted = [words for words in re.findall(r'"([^"\n]*)"', code) if " " in words]
        plain = re.sub(r"<[^>]*>", " ", re.sub(r"\{[{%].*?[%}]\}", " ", text, flags=re.DOTALL))
        said[file.name] = " ".join([plain, *quoted])
    words = source / "reporting" / "words" / "en.toml"
    said[words.name] = " ".join(re.findall(r'= "(.*)"$', words.read_text(encoding="utf-8"), re.MULTILINE))
    modules = {str(file.relative_to(source)): file for file in source.rglob("*.py")}
    shown = {name: file for name, file in modules.items() if not name.startswith(NOT_SHOWN)}
    said |= {name: " ".join(_literals(file)) for name, file in shown.items()}
    return {name: re.sub(r"\{\w+(?::[^}]*)?\}", " ", html.unescape(text)) for name, text in said.items()}
