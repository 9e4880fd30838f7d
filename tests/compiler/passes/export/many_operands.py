"""Writes a fragment with one step: a kernel with the given number of operands."""

import sys

count, type = int(sys.argv[1]), "tensor<4xf32, #dist.layout<embed : 4>>"
print(f"""module attributes {{dist.mesh = #dist.mesh<>}} {{
  nn.variable @w : {type} {{kind = #nn.kind<parameter>, stages = [0], stored = [4], init = #nn.init<ones>, index = 0 : i64}}
  rank.kernel @all attributes {{extent = 1 : i64, flops = 1.0 : f64}} {{
  ^bb0({", ".join(f"%{i}: {type}" for i in range(count))}):
    rank.yield %0 : {type}
  }}
  pipe.program {{schedule = "none", stages = 1 : i64, micro_count = 1 : i64}}
  pipe.fragment @F0 stage(0) phase(F) {{
    %x = nn.read @w : {type}
    %y = rank.launch @all({", ".join(["%x"] * count)}) : ({", ".join([type] * count)}) -> {type}
  }}
  pipe.order stage(0) ["F0:0"]
}}""")
