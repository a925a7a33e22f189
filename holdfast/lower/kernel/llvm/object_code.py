"""LLVM at work: text is optimised and becomes an object file, and an object file becomes functions in memory."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import llvmlite
from llvmlite import binding

LEVEL = 2
"""LLVM's level of optimisation: 2, as in ``-O2``."""


@cache
def target() -> binding.TargetMachine:
    """A target of this machine, with all that its processor can do."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=LEVEL,
        reloc="pic",
        codemodel="jitdefault",
        jit=True,
    )


@cache
def compiler() -> str:
    """The compiler, its version, and the processor that it compiles for. Object code of another one may not run."""
    binding.initialize_native_target()
    version = ".".join(map(str, binding.llvm_version_info))
    processor = f"{binding.get_host_cpu_name()}, {binding.get_host_cpu_features().flatten()}"
    return (
        f"llvmlite {llvmlite.__version__}, LLVM {version}, level {LEVEL}, {binding.get_process_triple()}, {processor}"
    )


def compiled(text: str, level: int = LEVEL) -> bytes:
    """The object file of a module's text. Raises RuntimeError if LLVM refuses the text."""
    machine = target()
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    options = binding.create_pipeline_tuning_options(level)
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    found: bytes = machine.emit_object(module)
    return found


def verified(text: str, triple: str) -> bytes:
    """The object file of a module's text for another processor. Raises RuntimeError if LLVM refuses the text."""
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    machine = binding.Target.from_triple(triple).create_target_machine(reloc="pic")
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = triple, str(machine.target_data)
    module.verify()
    found: bytes = machine.emit_object(module)
    return found


class LoadedCode:
    """The functions of an object file. They live as long as this object does."""

    def __init__(self, code: bytes) -> None:
        target()
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _machine())
        self._engine.add_object_file(binding.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def function(self, name: str, types: list[type[ctypes._SimpleCData[Any]]]) -> ctypes._FuncPointer:
        """A function that takes arguments of these types and returns nothing. Other threads of Python run beside it."""
        return ctypes.CFUNCTYPE(None, *types)(self._engine.get_function_address(name))


def _machine() -> binding.TargetMachine:
    # An engine takes over the machine that it is given, so each gets one of its own.
    return target.__wrapped__()
