"""Runs in the engine's environment: prompts of token ids on standard input, TTFTs on standard output.

The request function is the one that ``vllm bench serve`` uses. usage: python vllm_request.py URL MODEL MAX_TOKENS
"""

import asyncio
import json
import sys

import aiohttp
from vllm.benchmarks.lib.endpoint_request_func import RequestFuncInput, async_request_openai_completions


async def main(url: str, model: str, max_tokens: int) -> None:
    """Answer each line as it comes."""
    async with aiohttp.ClientSession() as session:
        for line in sys.stdin:
            prompt = json.loads(line)
            request = RequestFuncInput(
                prompt=prompt,
                api_url=f"{url}/v1/completions",
                prompt_len=len(prompt),
                output_len=max_tokens,
                model=model,
                ignore_eos=True,
                extra_body={"temperature": 0},
            )
            answer = await async_request_openai_completions(request, session)
            if not answer.success:
                raise SystemExit(answer.error)
            print(answer.ttft, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], int(sys.argv[3])))
