"""Trainers: all ranks of a program in this process, with their parameters."""

import collections.abc
import dataclasses
import json
import numbers
import operator
import os
import pathlib
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Tuple, Union

from . import _native
from ._arguments import at_least_one, given, mapping_of, path_of, paths_of, whole_numbers
from ._arrays import Piece, View, as_numpy, lend
from ._checkpoints import STATE_FILE, check_folder, checkpoints_in, identity_of
from ._errors import InputError, RunError, Stopped, UsageError
from ._events import EVALUATED, SAVED, STEP, TOKEN, Listener, Progress, log
from ._loader import ArrayLoader, endless, state_of, steps_per_epoch, text_of
from ._process import same_process, using_threads
from ._program import Program
from ._results import Evaluation, Generated, StepResult, evaluation_of, is_unsound
from ._state import STEPS, StateDict, some

_VIEW, _PIECE, _COPY = range(3)


class _Closed:
    """Stands for the native trainer of a closed one: every use is refused."""

    def __getattr__(self, name: str):
        raise UsageError("the trainer is closed: make another one with npar.Trainer(program)")


class Trainer:
    """All ranks of a program in this process. For one thread at a time, except `stop`. `with npar.Trainer(p) as t:` closes it at the end.

    program   from npar.compile, npar.load or npar.open
    threads   workers; default: the machine's
    seed      of parameters and dropout; default: the program's
    backend   "cpu", "cuda", or "null", which computes nothing
    timeout   seconds without any progress, or without the other processes, after which a call fails; default 300
    weights   a file or folder of weights to begin with, instead of random ones
    job       "env": the processes that torchrun has started share the ranks. Each makes a Trainer of the same program, and all make the
              same calls in the same order with the same global batches: a difference is a UsageError. "none": this process has all ranks. Default: "env" where RANK and WORLD_SIZE are
              set, as torchrun does
    """

    def __init__(
        self, program: Program, *, threads: Optional[int] = None, seed: Optional[int] = None, backend: Optional[str] = None,
        timeout: Optional[float] = None, weights=None, job: Optional[str] = None,
    ):
        if not isinstance(program, Program):
            raise TypeError(f"a Trainer takes an npar.Program, as npar.compile returns it, not {type(program).__name__}")
        at_least_one("Trainer", threads=threads)
        using_threads()
        options: Dict[str, Any] = {"uninitialised": weights is not None}
        if job is None:
            job = "env" if "RANK" in os.environ and "WORLD_SIZE" in os.environ else "none"
        if job not in ("env", "none"):
            raise UsageError(f"job is {job!r}: env or none")
        self._job = job
        if job == "env":
            options["job"] = job
        for key, value in (("threads", threads), ("seed", seed), ("backend", backend)):
            if value is not None:
                options[key] = value
        if timeout is not None:
            if not isinstance(timeout, numbers.Real):
                raise TypeError(f"timeout is {timeout!r}: pass seconds")
            if not timeout > 0:
                raise UsageError(f"timeout is {timeout:g}: it must be more than 0 seconds")
            options["timeout_seconds"] = float(timeout)
        self.program = program
        self._pid = os.getpid()
        with Listener() as listener:
            self._native: Any = _native.Trainer(program._native, options, listener)
        self._evaluation: Optional[Program] = None
        self._generation: Optional[Program] = None
        self._evaluator: Optional["Trainer"] = None
        self._folder: Optional[Tuple[int, int]] = None  # of its checkpoints: only there it may add more
        if weights is not None:
            self.load_weights(weights)

    # -- training

    def step(self, inputs: Optional[Mapping[str, Any]] = None, /, **named: Any) -> StepResult:
        """One update from one global batch: `trainer.step(tokens=x, targets=y)`, or a dictionary.

        Arrays of NumPy, PyTorch and every other library with DLPack; integers of any type if the values are in range.
        """
        self._check_process()
        arrays = {**mapping_of(inputs, "a batch", "arrays by the names of the inputs: " + ", ".join(self.program.inputs)), **named}
        wanted = self.program.inputs
        for name in arrays:
            if name not in wanted:
                raise InputError(f"the program has no input '{name}': it has {', '.join(wanted)}")
        result = StepResult(**self._native.step({name: lend(value, name) for name, value in arrays.items()}))
        if is_unsound(result) and not self.program.outputs:
            log.warning("step %d changed nothing: its loss or its gradients are not finite; look for NaN in the batch, or lower the learning rate", result.step)
        return result

    def run(
        self, loader: Iterable[Mapping[str, Any]], *, steps: int, evaluate: Optional[Iterable] = None, evaluate_every: Optional[int] = None,
        checkpoint=None, checkpoint_every: Optional[int] = None, checkpoint_keep: Optional[int] = None, resume: bool = False,
        nonfinite: str = "stop", progress: bool = False,
    ) -> Iterator[StepResult]:
        """Trains on the batches of a loader and yields each step's result: `for r in trainer.run(loader, steps=1000): print(r.loss)`.

        loader    yields dictionaries of arrays; when it ends, it is iterated again
        steps     steps done at the end, those before included
        evaluate  a loader to evaluate on, every `evaluate_every` steps and at the end: `r.evaluation`
        checkpoint  a folder; a checkpoint is written every `checkpoint_every` steps and at the end. `checkpoint_keep`: how many stay
        resume    True: continue from the newest checkpoint of the folder, if it has one; nothing is left to do if that one has all steps. The loader continues, too: it needs
                  `state_dict` and `load_state_dict`, as torchdata's StatefulDataLoader and npar.ArrayLoader have them
        nonfinite  "stop": RunError after a step whose loss or gradients are not finite; "continue": the next batch. Neither changes a
                  parameter in such a step. Under fp16 npar skips steps by itself while the loss scale is too large

        A `break` ends the training after the step. Write a checkpoint then with `save`, if you want one.
        """
        self._check_process()
        if not isinstance(loader, collections.abc.Iterable):
            raise TypeError(f"run: the loader has the type {type(loader).__name__}: pass a list of batches, npar.ArrayLoader or another iterable")
        if self.program.outputs:
            raise UsageError("run: the program only goes forward: compile it with kind='training', or use evaluate or generate")
        for name, number, least in (("steps", steps, 0), ("checkpoint_keep", checkpoint_keep, 0), ("checkpoint_every", checkpoint_every, 1), ("evaluate_every", evaluate_every, 1)):
            if number is not None and not hasattr(number, "__index__"):
                raise TypeError(f"run: {name} is {number!r}: pass a whole number")
            if number is not None and number < least:
                raise UsageError(f"run: {name} is {number}: it must be {least} or more")
        steps = operator.index(steps)
        if nonfinite not in ("stop", "continue"):
            raise UsageError(f"run: nonfinite is {nonfinite!r}: stop or continue")
        if checkpoint is None and (checkpoint_every or checkpoint_keep or resume):
            raise UsageError("run: checkpoint_every, checkpoint_keep and resume need checkpoint, a folder")
        if evaluate is None and evaluate_every:
            raise UsageError("run: evaluate_every needs evaluate, a loader")
        if evaluate is not None and not isinstance(evaluate, collections.abc.Iterable):
            raise TypeError(f"run: evaluate has the type {type(evaluate).__name__}: pass a list of batches, npar.ArrayLoader or another iterable")
        if resume and not (hasattr(loader, "state_dict") and hasattr(loader, "load_state_dict")):  # at once, not when the work is done
            raise UsageError("run: resume needs a loader with state_dict and load_state_dict, such as npar.ArrayLoader or torchdata's StatefulDataLoader")
        if checkpoint is not None:
            check_folder(checkpoint, resume, self._folder)
            if hasattr(loader, "state_dict"):
                text_of(loader.state_dict())
        if resume and checkpoints_in(checkpoint):
            self.resume(checkpoint)
            self._load_loader(loader, checkpoint)
        if resume and self.steps == steps:  # a finished script that runs again
            return iter(())
        if self.steps >= steps:
            raise UsageError(f"run: steps is {steps}, and {self.steps} are done: it must be larger, because it counts those before")
        self._native.set_length(steps, steps_per_epoch(loader))
        return self._run(loader, steps, evaluate, evaluate_every, checkpoint, checkpoint_every, checkpoint_keep, nonfinite == "stop", progress)

    def _run(
        self, loader: Any, steps: int, evaluate: Any, evaluate_every: Optional[int], checkpoint: Any, checkpoint_every: Optional[int],
        keep: Optional[int], ends_if_not_finite: bool, progress: bool,
    ) -> Iterator[StepResult]:
        line = Progress() if progress else None
        batches = endless(loader)
        try:
            while self.steps < steps:
                result = self.step(next(batches))
                if ends_if_not_finite and is_unsound(result):
                    raise RunError(
                        f"run: step {result.step} changed nothing: its loss is {result.loss:g}, its gradient norm {result.grad_norm:g}; "
                        "look for NaN in the batch, lower the learning rate, or pass nonfinite='continue'"
                    )
                done = self.steps
                more: Dict[str, Any] = {}
                if evaluate is not None and (done == steps or (evaluate_every and done % evaluate_every == 0)):
                    more["evaluation"] = self.evaluate(evaluate)
                if checkpoint is not None and (done == steps or (checkpoint_every and done % checkpoint_every == 0)):
                    more["checkpoint"] = str(self.save(checkpoint, loader=loader, keep=keep or 0))
                if line:
                    line.show(f"step {done}/{steps}  loss {result.loss:.4f}")
                yield dataclasses.replace(result, **more) if more else result
        finally:
            if line:
                line.end()

    def train(
        self, *, steps: int, data=None, tokens: Optional[str] = None, order: Optional[str] = None, random_data: bool = False,
        checkpoint=None, checkpoint_every: Optional[int] = None, checkpoint_keep: Optional[int] = None, resume: bool = False,
        evaluate=None, evaluate_every: Optional[int] = None, on_step: Optional[Callable[[StepResult], Any]] = None, progress: bool = False,
    ) -> Dict[str, Any]:
        """Trains on files, as `npar train` does, and returns its report. Learning rates may have lengths in epochs or shares of the run.

        data      FILE or INPUT=FILE, or a list of these; default: the data block of the text
        tokens    what a token file holds: "bytes", "u16" or "i32"
        order     "shuffled" or "sequential"
        evaluate  files to evaluate on, every `evaluate_every` steps
        on_step   called with each StepResult; if it returns False, the training stops and Stopped is raised
        """
        self._check_process()
        at_least_one("train", checkpoint_every=checkpoint_every, evaluate_every=evaluate_every)
        options = given(
            steps=steps, data=paths_of(data), tokens=tokens, data_order=order, random_data=random_data or None,
            checkpoint=None if checkpoint is None else path_of(checkpoint), checkpoint_every=checkpoint_every,
            checkpoint_keep=checkpoint_keep, resume=resume or None, evaluate_every=evaluate_every, evaluate_data=paths_of(evaluate),
        )
        if evaluate_every:
            options["evaluation"] = self._evaluation_program()._native

        def hears(kind, text, done, total, step, candidate):
            if kind == STEP and step and on_step and on_step(StepResult(**step)) is False:
                self.stop()
            elif kind == SAVED:
                log.info("checkpoint %s is complete", text)
            elif kind == EVALUATED:
                log.info("evaluation after %d steps: %s", done, text)

        stopped: Optional[Stopped] = None
        with Listener(progress, hears) as listener:
            try:
                report = self._native.run(options, listener)
            except Stopped as error:
                stopped = error
        if checkpoint is not None:
            self._folder = identity_of(path_of(checkpoint))
        if stopped:
            raise stopped
        return json.loads(report)

    def evaluate(self, data=None, *, tokens: Optional[str] = None, program: Optional[Program] = None, progress: bool = False) -> Evaluation:
        """The loss with the present parameters, over each batch once.

        data     a loader, or files as for `train`; default: the last part of the data block's split
        program  the same model compiled with kind="evaluation"; default: compiled from the trainer's own text
        """
        self._check_process()
        if data is None or isinstance(data, (str, os.PathLike)) or (isinstance(data, (list, tuple)) and data and all(isinstance(each, (str, os.PathLike)) for each in data)):
            options = given(data=paths_of(data), tokens=tokens)
            options["program"] = self._evaluation_program(program)._native
            with Listener(progress) as listener:
                report = json.loads(self._native.evaluate(options, listener))
            return evaluation_of(report, report.get("samples"))
        return self._evaluate_batches(data, program)

    def _evaluate_batches(self, loader, program) -> Evaluation:
        forward = self._evaluation_program(program)
        evaluator, self._evaluator = self._evaluator, None  # stays away if this fails in the middle
        if evaluator is None or evaluator.program is not forward:
            evaluator = Trainer(forward, job=self._job)
        for name in forward.parameters:
            evaluator._native.write(name, View(self._native.tensor(name, _COPY, 0), name))
        batches = 0
        for batch in loader.once() if isinstance(loader, ArrayLoader) else loader:
            evaluator.step(batch)
            batches += 1
        if not batches:
            raise InputError("evaluate: the loader gave no batch: an iterator can be used once, so pass a list or a loader")
        report = json.loads(evaluator._native.evaluated())
        self._evaluator = evaluator
        return evaluation_of(report, batches * next(iter(forward.inputs.values())).shape[0])

    def generate(
        self, prompt: Union[str, Iterable[int]], count: int = 100, *, tokenizer=None, temperature: float = 0.0, top_k: int = 0, top_p: float = 0.0,
        seed: int = 0, program: Optional[Program] = None, on_token: Optional[Callable[[int, str], Any]] = None,
    ) -> Generated:
        """Continues a prompt with the present parameters, at most by `count` tokens.

        prompt     a text, which needs a tokenizer, or token ids
        tokenizer  a folder, a file, or "bytes", the default of a model of 256 classes
        on_token   called with the id and text of each token
        """
        self._check_process()
        if count == 0:
            raise UsageError("generate: count is 0, it must be at least 1")
        tokens = None if isinstance(prompt, str) else whole_numbers(prompt, "prompt")
        if not (prompt if tokens is None else tokens):
            raise UsageError("generate: the prompt is empty: it must have at least one token")
        if program is None:
            if self._generation is None:
                self._generation = self.program._compiled_for(2)
            program = self._generation
        options = given(
            count=count, tokenizer=None if tokenizer is None else path_of(tokenizer), temperature=float(temperature), top_k=top_k,
            top_p=float(top_p), seed=seed,
        )
        options["program"] = program._native
        if tokens is None:
            options["prompt_text"] = prompt
        else:
            options["prompt"] = tokens

        def hears(kind, text, done, total, step, candidate):
            if kind == TOKEN and on_token:
                on_token(done, text)

        with Listener(False, hears) as listener:
            report = json.loads(self._native.generate(options, listener))
        return Generated(tuple(report["tokens"]), tuple(report["prompt_tokens"]) if isinstance(report["prompt_tokens"], list) else (), report.get("text"))

    def stop(self) -> None:
        """Asks the call in progress to end after its current part, with Stopped. Any thread may call it."""
        self._native.stop()

    @property
    def steps(self) -> int:
        """Steps done, those of a resumed checkpoint included."""
        return self._native.steps()

    def close(self) -> None:
        """Frees the memory of all ranks, except what views still show. A closed trainer refuses every use; closing it again changes nothing."""
        self._native = _Closed()
        if self._evaluator is not None:
            self._evaluator.close()
            self._evaluator = None

    def __enter__(self) -> "Trainer":
        return self

    def __exit__(self, *error) -> None:
        self.close()

    # -- checkpoints and weights

    def save(self, folder, *, loader=None, keep: int = 0) -> pathlib.Path:
        """Writes the checkpoint step-N into the folder, and with `loader` its state. Returns the checkpoint's folder.

        `keep`: how many checkpoints stay, the newest; 0: all. A folder with checkpoints of another training is refused.
        """
        self._check_process()
        files = {STATE_FILE: text_of(loader.state_dict())} if hasattr(loader, "state_dict") else {}
        self._native.save(path_of(folder), list(files.items()), keep)
        self._folder = identity_of(path_of(folder))
        return pathlib.Path(folder) / f"step-{self.steps}"

    def resume(self, folder, *, loader=None) -> "Trainer":
        """Continues from the newest intact checkpoint of the folder, whatever the plan that wrote it; and `loader` from its state there."""
        self._check_process()
        self._native.resume(path_of(folder))
        self._folder = identity_of(path_of(folder))
        if loader is not None:
            self._load_loader(loader, folder)
        return self

    def save_weights(self, path) -> None:
        """All parameters as one .safetensors file. Of several processes, process 0 writes it."""
        self._check_process()
        self._native.save_weights(path_of(path))

    def load_weights(self, path) -> "Trainer":
        """Weights of a .safetensors file, a folder of Hugging Face or a checkpoint."""
        self._check_process()
        self._native.load_weights(path_of(path))
        return self

    def hash(self) -> str:
        """32 hexadecimal digits over all parameters, equal for equal parameters under any plan."""
        self._check_process()
        return self._native.hash()

    # -- parameters

    def view(self, name: str) -> View:
        """The parameter in place, read-only and live: the next step changes it. Refused if the plan splits it: use `pieces` or t[name]."""
        self._check_process()
        return View(self._native.tensor(name, _VIEW, 0), name)

    def pieces(self, name: str) -> List[Piece]:
        """Each rank's piece of a parameter in place, read-only and live."""
        self._check_process()
        return [
            Piece(self._native.tensor(name, _PIECE, i), name, *each) for i, each in enumerate(self._native.pieces(name))
        ]

    def array(self, name: str):
        """A gathered copy of a parameter, an optimizer state, or an output of the last step, as a NumPy array. The same as t[name]."""
        return self[name]

    def __getitem__(self, name: str):
        return as_numpy(self._gathered(name))

    def __setitem__(self, name: str, value: Any) -> None:
        """Writes a parameter or an optimizer state on every rank that keeps a piece of it. The stored shape of a parameter is right, too."""
        self._check_process()
        _check_name(name)
        self._native.write(name, self._lent(name, value))

    def _lent(self, name: str, value: Any):
        """An array for a parameter, in its own shape."""
        array = lend(value, name)
        known = self.program.parameters.get(name)
        if known and tuple(getattr(array, "shape", ())) == known.stored_shape != known.shape and hasattr(array, "reshape"):
            array = array.reshape(known.shape)
        return array

    def __contains__(self, name: str) -> bool:
        return name in self._names(True)

    def state_dict(self, optimizer: bool = False) -> StateDict:
        """The parameters by name: a mapping that gathers each when it is read.

        optimizer  True: also what training needs to continue with the same bits: the optimizer's states, those of the loss scale of fp16,
                   and "#steps", the number of steps done
        """
        return StateDict(self, self._names(optimizer) + ([STEPS] if optimizer else []))

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Writes parameters from a mapping with exactly the names of `state_dict()`, or of `state_dict(optimizer=True)`.

        With the latter the trainer continues after the same number of steps. If an array is refused, nothing has changed.
        """
        self._check_process()
        state = mapping_of(state, "load_state_dict: the state", "arrays by their names")
        missing = [name for name in self._names(False) if name not in state]
        known = {*self._names(True), STEPS}
        unknown = [name for name in state if name not in known]
        if missing or unknown:
            raise InputError("load_state_dict: " + "; ".join(f"{word} {some(names)}" for word, names in (("missing", missing), ("unknown", unknown)) if names))
        values = dict(state.items())
        steps = whole_numbers([values.pop(STEPS, -1)], STEPS)[0]
        self._native.write_all({name: self._lent(name, value) for name, value in values.items()}, steps)

    def _names(self, optimizer: bool) -> List[str]:
        parameters = self.program.parameters.values()
        states = [state for each in parameters for state in each.states] + list(self.program._states)
        return [each.name for each in parameters] + (states if optimizer else [])

    # -- inside

    def __reduce__(self):
        raise TypeError("a Trainer cannot be pickled: write a checkpoint with save(folder), and use Trainer(program).resume(folder) in the other process")

    def _gathered(self, name: str) -> View:
        """A copy from all ranks, with memory of its own."""
        self._check_process()
        _check_name(name)
        return View(self._native.tensor(name, _COPY, 0), name)

    def _check_process(self) -> None:
        same_process(self._pid, "trainer")

    def _evaluation_program(self, program: Optional[Program] = None) -> Program:
        if program is not None:
            if not isinstance(program, Program) or "losses" not in program.outputs and not program._is_kind("evaluation"):
                raise UsageError("evaluate: program is not compiled for evaluation: npar.compile(..., kind='evaluation')")
            return program
        if self._evaluation is None:
            self._evaluation = self.program._compiled_for(1)
        return self._evaluation

    def _load_loader(self, loader, folder) -> None:
        text = self._native.saved_file(STATE_FILE)
        if text is None:
            raise UsageError(f"'{folder}' has a checkpoint without the state of a loader: resume with trainer.resume(folder), and set the loader yourself")
        if not hasattr(loader, "load_state_dict"):
            raise UsageError("the loader has no load_state_dict, so it cannot continue where the checkpoint stopped: use npar.ArrayLoader or torchdata's StatefulDataLoader")
        loader.load_state_dict(state_of(text))

    def __repr__(self) -> str:
        state = "closed" if isinstance(self._native, _Closed) else f"{self.steps} steps done"
        return f"<npar.Trainer of {self.program._line()}; {state}>"


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise TypeError(f"trainer[{name!r}]: pass the name of a parameter, such as 'head.weight'; program.parameters lists them")
