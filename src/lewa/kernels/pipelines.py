"""How Numba compiles the parts of a learner's rule, and the programs that are made of them.

Numba optimises each function, and writes machine code for it, before it links the function into the one that calls it. A
part is never run by itself: its code is linked into a program, and optimised there as a whole. So parts stop at LLVM's
language, which saves almost half of the time that a learner takes to compile; the programs come out the same. Where Python
calls a part, the part is compiled as a program.
"""

from typing import Any

from numba import _dynfunc  # type: ignore[attr-defined]
from numba.core import codegen, compiler, compiler_machinery, registry, typed_passes

_functions: Any = _dynfunc
_Builder: Any = compiler.DefaultPassBuilder
_Library: Any = codegen.JITCodeLibrary
_Compiler: Any = compiler.CompilerBase
_Dispatcher: Any = registry.CPUDispatcher
_Lowering: Any = typed_passes.NativeLowering
_register: Any = compiler_machinery.register_pass


class PartLibrary(_Library):
    """The code of a part, for others to link."""

    def _optimize_final_module(self) -> None:
        """Leave it to the program."""

    def _finalize_final_module(self) -> None:
        self._finalized = True  # without machine code


@_register(mutates_CFG=True, analysis_only=False)
class LowerPart(_Lowering):
    """Write a part in LLVM's language, and tell Numba where callers find it."""

    _name = "lewa_lower_part"

    def run_pass(self, state: Any) -> bool:
        """Run the pass."""
        state.library = PartLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        super().run_pass(state)
        lowered, library = state["cr"], state.library
        # Callers are linked by the function that Python would call, which has no address here.
        part = _functions.make_function(lowered.fndesc.lookup_module(), "part", "", 0, lowered.env, (library,))
        state["cr"] = lowered._replace(cfunc=part)
        state.targetctx.insert_user_function(part, lowered.fndesc, [library])
        state.reload_init.extend(library._reload_init)
        return True


@_register(mutates_CFG=True, analysis_only=False)
class LowerUnlocked(_Lowering):
    """Write a program that lets other threads run.

    Numba compiles a part anew for callers with other flags. This one is set after the parts were compiled.
    """

    _name = "lewa_lower_unlocked"

    def run_pass(self, state: Any) -> bool:
        """Run the pass."""
        state.flags.release_gil = True
        return bool(super().run_pass(state))


def _with(state: Any, lowering: Any) -> list[Any]:
    passes = _Builder.define_nopython_pipeline(state)
    passes.passes = [(lowering if step is typed_passes.NativeLowering else step, why) for step, why in passes.passes]
    passes.finalize()
    return [passes]


class PartCompiler(_Compiler):
    """Numba's compiler without its last steps."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        self.state.flags.no_compile = True
        return _with(self.state, LowerPart)


class UnlockedCompiler(_Compiler):
    """Numba's compiler for a program that lets other threads run."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        return _with(self.state, LowerUnlocked)


class Part(_Dispatcher):
    """A part for compiled callers; for Python, the program that is made of the same function."""

    def __init__(self, function: Any, options: Any, program: Any) -> None:
        options = {**options, "nopython": True, "no_cpython_wrapper": True, "boundscheck": None}
        super().__init__(function, targetoptions=options, pipeline_class=PartCompiler)
        self.program = program

    def __call__(self, *arguments: Any) -> Any:
        """Run the program."""
        return self.program(*arguments)
