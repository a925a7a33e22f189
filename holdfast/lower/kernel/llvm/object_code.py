"""LLVM at work: text is optimised and becomes an object file, and an object file becomes functions in memory.

Quick code comes from two cheap passes and the level 1 of LLVM's code generator. Full code comes from all passes of
``-O2``: it takes three times as long to make, and runs a quarter faster.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import llvmlite
from llvmlite import binding

from holdfast.ir.long_call import long_call

FULL, QUICK = 2, 1
"""LLVM's level for full code, as in ``-O2``, and the level of its code generator for quick code."""


@cache
def target(level: int) -> binding.TargetMachine:
    """A target of this machine, with all that its processor can do. ``level``: that of the code generator."""
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding.Target.from_default_triple().create_target_machine(
        cpu=binding.get_host_cpu_name(),
        features=binding.get_host_cpu_features().flatten(),
        opt=level,
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
    return f"llvmlite {llvmlite.__version__}, LLVM {version}, {binding.get_process_triple()}, {processor}"


def compiled(text: str, level: int = FULL) -> bytes:
    """The object file of a module's text, of quick or full code. Raises RuntimeError if LLVM refuses the text."""
    machine = target(level)
    module = binding.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    with long_call("the compilation of machine code"):
        return _compiled(module, machine, level)


def _compiled(module: binding.ModuleRef, machine: binding.TargetMachine, level: int) -> bytes:
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options(level))
    passes = builder.getModulePassManager() if level == FULL else _quick_passes()
    passes.run(module, builder)
    found: bytes = machine.emit_object(module)
    return found


def _quick_passes() -> binding.ModulePassManager:
    passes = binding.create_new_module_pass_manager()
    # The translator keeps variables in memory; the first pass moves them to registers.
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    return passes


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
        target(FULL)
        self._engine = binding.create_mcjit_compiler(binding.parse_assembly(""), _machine())
        self._engine.add_object_file(binding.ObjectFileRef.from_data(code))
        self._engine.finalize_object()

    def function(self, name: str, types: list[type[ctypes._SimpleCData[Any]]]) -> ctypes._FuncPointer:
        """A function that takes arguments of these types and returns nothing. Other threads of Python run beside it."""
        return ctypes.CFUNCTYPE(None, *types)(self._engine.get_function_address(name))


def _machine() -> binding.TargetMachine:
    # An engine takes over the machine that it is given, so each gets one of its own.
    return target.__wrapped__(FULL)
