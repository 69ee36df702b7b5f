"""The scripts that write pages of the docs, as modules."""

from __future__ import annotations

import importlib.util
from types import ModuleType

from tests.support.paths import ROOT

DOCS = ROOT / "docs"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, DOCS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
