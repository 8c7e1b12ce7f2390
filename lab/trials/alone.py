"""An engine with LMCache inside it: nothing runs beside it, and RAM only stages what goes to and from the drive."""

from kvtiers.result.steps import Step
from lab.engines.launch import Connection, in_process
from lab.judge.engine_log import EngineLog
from lab.launches import Staged
from lab.measure.chunks import ChunkFiles
from lab.trials.engine import Change, Prompt
from lab.trials.stage import Stage


class AloneStage(Stage):
    """A stage without a server. Every scenario begins with an empty directory and a new engine, for LMCache inside it
    only finds files that it has written itself since it started."""

    def _connection(self, place: Staged) -> Connection:
        self._asked = set[Prompt]()
        chunk_bytes = self.wanted.knobs.chunk_tokens * self.pool.kv_bytes_per_token
        self._written = ChunkFiles(self.directory, chunk_bytes, place.storage.direct_io)
        return in_process(self.wanted.preset, place.storage, self.wanted.knobs.chunk_tokens)

    def stand(self, *changes: Change) -> None:
        """A new engine, so changed, that has stored nothing but its warm-up."""
        self.stop()
        for file in self.files():
            file.unlink()
        self._asked.clear()
        self.first.start(*changes)

    def note(self, prompt: Prompt) -> None:
        """Each of its whole chunks is a file once it is written."""
        chunk = self.wanted.knobs.chunk_tokens
        self._asked |= {prompt[:end] for end in range(chunk, len(prompt) + 1, chunk)}

    def loaded_tokens(self, counted: int, log: EngineLog, request_id: str) -> int:
        """It counts what the lookup promised; how much came, only the log tells."""
        return log.request(request_id, Step.SSD_REUSE).retrieved_tokens

    def settle(self) -> None:
        """Wait until all that was asked for lies on the drive."""
        process = self.first.process
        assert process is not None
        self._written.await_written(len(self._asked), process.check)

    def only_files_are_left(self) -> None:
        """What is asked next can come from nowhere else."""
        self.first.push_out()
        self.settle()

    def after_restart(self, prompt: Prompt) -> int:
        """The files are there, and their names were known to the engine before alone."""
        return 0
