"""Compile the kernel into the wheel, where there is a compiler; without one the wheel is of Python alone.

One binary does for all versions of Python from 3.11 on, since it keeps to the stable ABI. `FATHOMS_KERNEL=0` leaves it
out, as it does at run time.
"""

from __future__ import annotations

import os
import shutil
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path("src", "fathoms", "_kernel.c")
ABI = "cp311-abi3"


class KernelBuildHook(BuildHookInterface[Any]):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if os.environ.get("FATHOMS_KERNEL") == "0":
            return
        self.folder = tempfile.mkdtemp(prefix="fathoms-kernel-")
        built = self._compiled(Path(self.root), Path(self.folder))
        if built is None:
            return
        if version == "editable":  # it is imported from the sources
            place = Path(self.root, SOURCE.parent, built.name)
            place.unlink(missing_ok=True)  # a program that has it loaded keeps the old one
            shutil.copy(built, place)
            return
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["force_include"][str(built)] = f"fathoms/{built.name}"
        build_data["pure_python"] = False
        build_data["tag"] = f"{ABI}-{platform}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        shutil.rmtree(getattr(self, "folder", ""), ignore_errors=True)

    def _compiled(self, root: Path, folder: Path) -> Path | None:
        """The compiled file, or None where it cannot be made."""
        from setuptools import Distribution, Extension
        from setuptools.command.build_ext import build_ext

        flags = ["-O3", "-std=c11", "-fvisibility=hidden", "-ffp-contract=off"]  # sums as numpy rounds them
        kernel = Extension("fathoms._kernel", [str(root / SOURCE)], py_limited_api=True, extra_compile_args=flags)
        command = build_ext(Distribution({"name": "fathoms", "ext_modules": [kernel]}))
        command.build_lib = command.build_temp = str(folder)
        try:
            command.ensure_finalized()
            command.run()
        except Exception as error:  # whatever it is that is missing, numpy does the work
            self.app.display_warning(f"no compiled kernel: {error}")
            return None
        return Path(command.get_ext_fullpath("fathoms._kernel"))
