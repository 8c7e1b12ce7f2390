"""``kvtiers worth-it``: what a tier would save in a day, tier by tier, and whether that is worth it."""

import argparse
import json
from dataclasses import asdict

from kvtiers.commands.arguments import language_argument, model_arguments, spec_of
from kvtiers.ledger.costs import CHUNK_TOKENS
from kvtiers.ledger.tiers import Tier
from kvtiers.ledger.worth import MISS_PRICE, REPORTED_MISS_PRICES, TIERS, PrefixTraffic, Saving, savings
from kvtiers.units import format_bytes, format_seconds
from kvtiers.words import text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    model_arguments(parser)
    parser.add_argument("--prefix", type=float, required=True, metavar="N", help="tokens that requests share")
    parser.add_argument("--requests-per-hour", type=float, required=True, metavar="N")
    parser.add_argument("--repeated", type=float, required=True, metavar="SHARE", help="0 to 1: whose prefix was seen")
    parser.add_argument(
        "--prefill-tokens-per-s", type=float, required=True, metavar="N", help="long prompt / its time to first token"
    )
    for tier in TIERS:
        parser.add_argument(f"--{tier.value}-gb-per-s", type=float, metavar="N", help="measured; else a ceiling")
    parser.add_argument(
        "--miss-price", type=float, default=MISS_PRICE, metavar="SHARE", help="by which a miss is slower"
    )
    parser.add_argument("--chunk-size", type=int, default=CHUNK_TOKENS, metavar="N", help="tokens per chunk")
    language_argument(parser)
    parser.add_argument("--json", action="store_true", help="print it as JSON")


def run(options: argparse.Namespace) -> str:
    given = {tier: getattr(options, f"{tier.value}_gb_per_s") for tier in TIERS}
    spec = spec_of(options)
    balances = savings(
        PrefixTraffic(options.prefix, options.requests_per_hour, options.repeated),
        spec.bytes_per_token if spec else options.kv_bytes_per_token,
        options.prefill_tokens_per_s,
        bandwidth_gb_per_s={tier: value for tier, value in given.items() if value is not None},
        miss_price=options.miss_price,
        chunk_tokens=options.chunk_size,
    )
    if options.json:
        rows = [asdict(saving) | {"text": _words(saving, options.language)} for saving in balances]
        return json.dumps(rows, indent=2, ensure_ascii=False)
    lines = [_line(saving, options.language) for saving in balances]
    least, most = REPORTED_MISS_PRICES
    price = {"price": options.miss_price, "least": least, "most": most}
    return "\n".join([*lines, text("worth.ceiling", options.language, {}), text("worth.miss", options.language, price)])


def _line(saving: Saving, language: str) -> str:
    values = {
        "tier": text(f"worth.tier.{saving.tier}", language, {}),
        "recompute": format_seconds(saving.recompute_s),
        "reuse": format_seconds(saving.reuse_s),
        "saved": f"{saving.saved_s_per_day:,.0f}",
        "percent": 100 * saving.share_of_ttft,
    }
    lines = [text("worth.line", language, values), f"  {_words(saving, language)}"]
    if saving.tier is Tier.SSD and saving.written_bytes_per_day:
        lines.append("  " + text("worth.written", language, {"written": format_bytes(saving.written_bytes_per_day)}))
    return "\n".join(lines)


def _words(saving: Saving, language: str) -> str:
    return text(f"worth.answer.{saving.worth}", language, {})
