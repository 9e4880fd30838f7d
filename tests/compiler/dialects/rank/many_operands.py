"""Writes a rank program of one step: a bucket of so many collectives."""

import sys

places = ", ".join(["static[0, 64]"] * int(sys.argv[1]))
print(f"""module attributes {{dist.mesh = #dist.mesh<dp = 2>}} {{
  rank.program @all stage(0) arena(64) fixed {{}} memory {{}} {{
    rank.region "static" bytes(64) slots(1) offset(0)
    rank.fragment "U" phase(U) {{
      rank.step collective "bucket" ({places}) -> ({places}) after []
        does {{axes = ["dp"], count = 16 : i64, event = 0 : i64, geometry = array<i64: 1, 1, 1>, kind = "all_reduce", op = "sum", type = f32}}
        path "" flops 0.0 begin 0.0 end 1.0
    }}
  }}
}}""")
