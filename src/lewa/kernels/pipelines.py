"""How Numba compiles the parts of a learner's rule, and the programs that are made of them.

Numba optimises each function, and writes machine code for it, before it links the function into the one that calls it. A
part is never run by itself: its code is linked into a program, and optimised there as a whole. So parts stop at LLVM's
language, which saves almost half of the time that a learner takes to compile; the programs come out the same. Where Python
calls a part, the part is compiled as a program.

A program is optimised once, and its loops are neither unrolled nor interleaved. Numba optimises twice, for the sake of
counts of references, which a rule has none of. Loops over actions are vectorised, and that makes them fast. Unrolled
besides, they take up to twice as long to compile, and no less time to run. Interleaved, so that one turn works on several
vectors, they take longer to compile, and less time to run only with about a thousand actions.
"""

from copy import copy
from typing import Any

from numba import _dynfunc, config
from numba.core import codegen, compiler, compiler_machinery, registry, typed_passes

_functions: Any = _dynfunc
_Builder: Any = compiler.DefaultPassBuilder
_Library: Any = codegen.JITCodeLibrary
_Compiler: Any = compiler.CompilerBase
_Dispatcher: Any = registry.CPUDispatcher
_Lowering: Any = typed_passes.NativeLowering
_register: Any = compiler_machinery.register_pass
_llvm: Any = vars(codegen)["ll"]  # llvmlite.binding
_settings: Any = config


class PartLibrary(_Library):
    """The code of a part, for others to link."""

    def _optimize_final_module(self) -> None:
        """Leave it to the program."""

    def _finalize_final_module(self) -> None:
        self._finalized = True  # without machine code


class ProgramLibrary(_Library):
    """The code of a program."""

    def _optimize_functions(self, module: Any) -> None:
        """Leave them to the optimisation of the whole program. Numba's pass for counts of references finds none here."""
        module.data_layout = self._codegen._data_layout  # without it, what depends on the machine would be left as it is

    def _optimize_final_module(self) -> None:
        options = _llvm.create_pipeline_tuning_options()
        options.speed_level = _settings.OPT
        options.loop_vectorization = _settings.LOOP_VECTORIZE
        options.slp_vectorization = _settings.SLP_VECTORIZE
        options.loop_unrolling = options.loop_interleaving = False
        builder = _llvm.create_pass_builder(self._codegen._tm, options)
        builder.getModulePassManager().run(self._final_module, builder)


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
class LowerProgram(_Lowering):
    """Write a program, which can be kept on disk."""

    _name = "lewa_lower_program"

    def run_pass(self, state: Any) -> bool:
        """Run the pass."""
        state.library = ProgramLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        return bool(super().run_pass(state))


@_register(mutates_CFG=True, analysis_only=False)
class LowerUnlocked(LowerProgram):
    """Write a program that lets other threads run.

    Numba compiles a part anew for callers with other flags. This one is set after the parts were compiled.
    """

    _name = "lewa_lower_unlocked"

    def run_pass(self, state: Any) -> bool:
        """Run the pass."""
        state.flags.release_gil = True
        return bool(super().run_pass(state))


_pipelines: dict[tuple[object, ...], Any] = {}  # by what they depend on: to put one together takes as long as some passes


def _with(state: Any, lowering: Any) -> list[Any]:
    """Return Numba's passes, with another one that lowers."""
    flags = state.flags
    key = lowering, state.func_ir is None, flags.no_rewrites, flags.enable_ssa, flags.auto_parallel.enabled
    if key not in _pipelines:
        passes = _Builder.define_nopython_pipeline(state)
        passes.passes = [(lowering if step is typed_passes.NativeLowering else step, why) for step, why in passes.passes]
        passes.finalize()
        _pipelines[key] = passes
    passes = copy(_pipelines[key])
    passes.exec_times = {}
    return [passes]


class PartCompiler(_Compiler):
    """Numba's compiler without its last steps."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        self.state.flags.no_compile = True
        return _with(self.state, LowerPart)


class ProgramCompiler(_Compiler):
    """Numba's compiler for a program that keeps Python's lock."""

    def define_pipelines(self) -> list[Any]:
        """Return the passes."""
        return _with(self.state, LowerProgram)


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
