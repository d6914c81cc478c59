from vllm.exceptions import VLLMServerError


class EngineGenerateError(VLLMServerError):  # type: ignore[misc]
    pass


class EngineDeadError(VLLMServerError):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__("EngineCore encountered an issue. See stack trace (above).")
