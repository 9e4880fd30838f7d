// One GPT-2 block between a tied, padded embedding and its loss: the input of the tests that count collectives. PLAN_MESH and PLAN_RULES are
// replaced by the tests.
#rate = {schedule = "constant", peak = 0.001, final = 0.0, warmup = 0 : i64, steps = 0 : i64}
#adamw = {name = "AdamW", rate = #rate, weight = "w", gradient = "g", step_states = [],
    states = [{name = "exp_avg", slot = "exp_avg", initial = 0.0}, {name = "exp_avg_sq", slot = "exp_avg_sq", initial = 0.0}],
    step = {definitions = [], results = ["sub(1, mul(lr, 0.1))", "div(lr, sub(1, pow(0.9, t)))", "sqrt(sub(1, pow(0.95, t)))"]},
    element = {definitions = ["%0 = add(exp_avg, mul(sub(g, exp_avg), 0.099999999999999978))", "%1 = add(mul(exp_avg_sq, 0.95), mul(mul(g, g), 0.050000000000000044))"],
        results = ["sub(mul(w, $0), mul($1, div(%0, add(div(sqrt(%1), $2), 1e-08))))", "%0", "%1"]}}
module attributes {dist.mesh = #dist.mesh<PLAN_MESH>, dist.rules = [PLAN_RULES],
                   nn.optimizers = [#adamw]} {
  nn.variable @"wte.weight" : tensor<33x16xf32, #nn.axes<vocab, embed>> {kind = #nn.kind<parameter>, stored = [33, 16], init = #nn.init<normal, 2.0e-02>, index = 0 : i64}
  nn.variable @"h.0.ln_1.weight" : tensor<16xf32, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [16], init = #nn.init<ones>, index = 1 : i64}
  nn.variable @"h.0.ln_1.bias" : tensor<16xf32, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [16], init = #nn.init<zeros>, index = 2 : i64}
  nn.variable @"h.0.attn.c_attn.weight" : tensor<16x3x4x4xf32, #nn.axes<embed, part, head, feature>> {kind = #nn.kind<parameter>, stored = [16, 3, 4, 4], init = #nn.init<normal, 2.0e-02>, index = 3 : i64}
  nn.variable @"h.0.attn.c_attn.bias" : tensor<3x4x4xf32, #nn.axes<part, head, feature>> {kind = #nn.kind<parameter>, stored = [3, 4, 4], init = #nn.init<zeros>, index = 4 : i64}
  nn.variable @"h.0.attn.c_proj.weight" : tensor<4x4x16xf32, #nn.axes<head, feature, embed>> {kind = #nn.kind<parameter>, stored = [4, 4, 16], init = #nn.init<normal, 2.0e-02>, index = 5 : i64}
  nn.variable @"h.0.attn.c_proj.bias" : tensor<16xf32, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [16], init = #nn.init<zeros>, index = 6 : i64}
  nn.variable @"h.0.ln_2.weight" : tensor<16xf32, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [16], init = #nn.init<ones>, index = 7 : i64}
  nn.variable @"h.0.ln_2.bias" : tensor<16xf32, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [16], init = #nn.init<zeros>, index = 8 : i64}
  nn.variable @"h.0.mlp.c_fc.weight" : tensor<16x32xf32, #nn.axes<embed, hidden>> {kind = #nn.kind<parameter>, stored = [16, 32], init = #nn.init<normal, 2.0e-02>, index = 9 : i64}
  nn.variable @"h.0.mlp.c_fc.bias" : tensor<32xf32, #nn.axes<hidden>> {kind = #nn.kind<parameter>, stored = [32], init = #nn.init<zeros>, index = 10 : i64}
  nn.variable @"h.0.mlp.c_proj.weight" : tensor<32x16xf32, #nn.axes<hidden, embed>> {kind = #nn.kind<parameter>, stored = [32, 16], init = #nn.init<normal, 2.0e-02>, index = 11 : i64}
  nn.variable @"h.0.mlp.c_proj.bias" : tensor<16xf32, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [16], init = #nn.init<zeros>, index = 12 : i64}
  nn.variable @"ln_f.weight" : tensor<16xf32, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [16], init = #nn.init<ones>, index = 13 : i64}
  nn.variable @"ln_f.bias" : tensor<16xf32, #nn.axes<embed>> {kind = #nn.kind<parameter>, stored = [16], init = #nn.init<zeros>, index = 14 : i64}
  nn.variable @"#out.loss.sum" : tensor<f64, #nn.axes<>> {kind = #nn.kind<accumulator>}
  nn.variable @"#out.loss" : tensor<f64, #nn.axes<>> {kind = #nn.kind<output>, output = "loss"}
  nn.variable @"#out.grad_norm" : tensor<f64, #nn.axes<>> {kind = #nn.kind<output>, output = "grad_norm"}
  func.func @micro() {
    %tokens = nn.input "tokens" {at = #nn.at<F, "wte", -1>} : tensor<4x8xi32, #nn.axes<batch, seq>>
    %targets = nn.input "targets" {at = #nn.at<F, "wte", -1>} : tensor<4x8xi32, #nn.axes<batch, seq>>
    %wte_weight = nn.read @"wte.weight" {at = #nn.at<F, "wte", -1>} : tensor<33x16xf32, #nn.axes<vocab, embed>>
    %x0 = nn.gather %wte_weight, %tokens over "vocab" {at = #nn.at<F, "wte", -1>} : (tensor<33x16xf32, #nn.axes<vocab, embed>>, tensor<4x8xi32, #nn.axes<batch, seq>>) -> tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>
    %h_0_ln_1_weight = nn.read @"h.0.ln_1.weight" {at = #nn.at<F, "h.0.ln_1", 0>} : tensor<16xf32, #nn.axes<embed>>
    %h_0_ln_1_bias = nn.read @"h.0.ln_1.bias" {at = #nn.at<F, "h.0.ln_1", 0>} : tensor<16xf32, #nn.axes<embed>>
    %y1, %y1_mean, %y1_rstd = nn.layer_norm %x0, %h_0_ln_1_weight, %h_0_ln_1_bias over "embed" epsilon 1.0e-05 {at = #nn.at<F, "h.0.ln_1", 0>} : (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<16xf32, #nn.axes<embed>>, tensor<16xf32, #nn.axes<embed>>) -> (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<4x8xf32, #nn.axes<batch, seq>>, tensor<4x8xf32, #nn.axes<batch, seq>>)
    %h_0_attn_c_attn_weight = nn.read @"h.0.attn.c_attn.weight" {at = #nn.at<F, "h.0.attn", 0>} : tensor<16x3x4x4xf32, #nn.axes<embed, part, head, feature>>
    %qkv_p = nn.einsum %y1, %h_0_attn_c_attn_weight {at = #nn.at<F, "h.0.attn", 0>} : (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<16x3x4x4xf32, #nn.axes<embed, part, head, feature>>) -> tensor<4x8x3x4x4xf32, #nn.axes<batch, seq, part, head, feature>>
    %h_0_attn_c_attn_bias = nn.read @"h.0.attn.c_attn.bias" {at = #nn.at<F, "h.0.attn", 0>} : tensor<3x4x4xf32, #nn.axes<part, head, feature>>
    %qkv = nn.add %qkv_p, %h_0_attn_c_attn_bias {at = #nn.at<F, "h.0.attn", 0>} : (tensor<4x8x3x4x4xf32, #nn.axes<batch, seq, part, head, feature>>, tensor<3x4x4xf32, #nn.axes<part, head, feature>>) -> tensor<4x8x3x4x4xf32, #nn.axes<batch, seq, part, head, feature>>
    %q = nn.select %qkv at "part"[0] {at = #nn.at<F, "h.0.attn", 0>} : (tensor<4x8x3x4x4xf32, #nn.axes<batch, seq, part, head, feature>>) -> tensor<4x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
    %k = nn.select %qkv at "part"[1] {at = #nn.at<F, "h.0.attn", 0>} : (tensor<4x8x3x4x4xf32, #nn.axes<batch, seq, part, head, feature>>) -> tensor<4x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
    %v = nn.select %qkv at "part"[2] {at = #nn.at<F, "h.0.attn", 0>} : (tensor<4x8x3x4x4xf32, #nn.axes<batch, seq, part, head, feature>>) -> tensor<4x8x4x4xf32, #nn.axes<batch, seq, head, feature>>
    %o, %probs = nn.attention %q, %k, %v {seq = "seq", key = "key", feature = "feature", causal = true, scale = 0.5 : f64, at = #nn.at<F, "h.0.attn", 0>} : (tensor<4x8x4x4xf32, #nn.axes<batch, seq, head, feature>>, tensor<4x8x4x4xf32, #nn.axes<batch, seq, head, feature>>, tensor<4x8x4x4xf32, #nn.axes<batch, seq, head, feature>>) -> (tensor<4x8x4x4xf32, #nn.axes<batch, seq, head, feature>>, tensor<4x4x8x8xf32, #nn.axes<batch, head, seq, key>>)
    %h_0_attn_c_proj_weight = nn.read @"h.0.attn.c_proj.weight" {at = #nn.at<F, "h.0.attn", 0>} : tensor<4x4x16xf32, #nn.axes<head, feature, embed>>
    %a_p = nn.einsum %o, %h_0_attn_c_proj_weight {at = #nn.at<F, "h.0.attn", 0>} : (tensor<4x8x4x4xf32, #nn.axes<batch, seq, head, feature>>, tensor<4x4x16xf32, #nn.axes<head, feature, embed>>) -> tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>
    %h_0_attn_c_proj_bias = nn.read @"h.0.attn.c_proj.bias" {at = #nn.at<F, "h.0.attn", 0>} : tensor<16xf32, #nn.axes<embed>>
    %a = nn.add %a_p, %h_0_attn_c_proj_bias {at = #nn.at<F, "h.0.attn", 0>} : (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<16xf32, #nn.axes<embed>>) -> tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>
    %x1 = nn.add %x0, %a {at = #nn.at<F, "h.0", 0>} : (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>) -> tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>
    %h_0_ln_2_weight = nn.read @"h.0.ln_2.weight" {at = #nn.at<F, "h.0.ln_2", 0>} : tensor<16xf32, #nn.axes<embed>>
    %h_0_ln_2_bias = nn.read @"h.0.ln_2.bias" {at = #nn.at<F, "h.0.ln_2", 0>} : tensor<16xf32, #nn.axes<embed>>
    %y2, %y2_mean, %y2_rstd = nn.layer_norm %x1, %h_0_ln_2_weight, %h_0_ln_2_bias over "embed" epsilon 1.0e-05 {at = #nn.at<F, "h.0.ln_2", 0>} : (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<16xf32, #nn.axes<embed>>, tensor<16xf32, #nn.axes<embed>>) -> (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<4x8xf32, #nn.axes<batch, seq>>, tensor<4x8xf32, #nn.axes<batch, seq>>)
    %h_0_mlp_c_fc_weight = nn.read @"h.0.mlp.c_fc.weight" {at = #nn.at<F, "h.0.mlp", 0>} : tensor<16x32xf32, #nn.axes<embed, hidden>>
    %f_p = nn.einsum %y2, %h_0_mlp_c_fc_weight {at = #nn.at<F, "h.0.mlp", 0>} : (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<16x32xf32, #nn.axes<embed, hidden>>) -> tensor<4x8x32xf32, #nn.axes<batch, seq, hidden>>
    %h_0_mlp_c_fc_bias = nn.read @"h.0.mlp.c_fc.bias" {at = #nn.at<F, "h.0.mlp", 0>} : tensor<32xf32, #nn.axes<hidden>>
    %f = nn.add %f_p, %h_0_mlp_c_fc_bias {at = #nn.at<F, "h.0.mlp", 0>} : (tensor<4x8x32xf32, #nn.axes<batch, seq, hidden>>, tensor<32xf32, #nn.axes<hidden>>) -> tensor<4x8x32xf32, #nn.axes<batch, seq, hidden>>
    %g = nn.gelu %f {at = #nn.at<F, "h.0.mlp", 0>} : (tensor<4x8x32xf32, #nn.axes<batch, seq, hidden>>) -> tensor<4x8x32xf32, #nn.axes<batch, seq, hidden>>
    %h_0_mlp_c_proj_weight = nn.read @"h.0.mlp.c_proj.weight" {at = #nn.at<F, "h.0.mlp", 0>} : tensor<32x16xf32, #nn.axes<hidden, embed>>
    %m_p = nn.einsum %g, %h_0_mlp_c_proj_weight {at = #nn.at<F, "h.0.mlp", 0>} : (tensor<4x8x32xf32, #nn.axes<batch, seq, hidden>>, tensor<32x16xf32, #nn.axes<hidden, embed>>) -> tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>
    %h_0_mlp_c_proj_bias = nn.read @"h.0.mlp.c_proj.bias" {at = #nn.at<F, "h.0.mlp", 0>} : tensor<16xf32, #nn.axes<embed>>
    %m = nn.add %m_p, %h_0_mlp_c_proj_bias {at = #nn.at<F, "h.0.mlp", 0>} : (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<16xf32, #nn.axes<embed>>) -> tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>
    %x2 = nn.add %x1, %m {at = #nn.at<F, "h.0", 0>} : (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>) -> tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>
    %ln_f_weight = nn.read @"ln_f.weight" {at = #nn.at<F, "ln_f", 1>} : tensor<16xf32, #nn.axes<embed>>
    %ln_f_bias = nn.read @"ln_f.bias" {at = #nn.at<F, "ln_f", 1>} : tensor<16xf32, #nn.axes<embed>>
    %x3, %x3_mean, %x3_rstd = nn.layer_norm %x2, %ln_f_weight, %ln_f_bias over "embed" epsilon 1.0e-05 {at = #nn.at<F, "ln_f", 1>} : (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<16xf32, #nn.axes<embed>>, tensor<16xf32, #nn.axes<embed>>) -> (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<4x8xf32, #nn.axes<batch, seq>>, tensor<4x8xf32, #nn.axes<batch, seq>>)
    %head = nn.read @"wte.weight" {at = #nn.at<F, "lm_head", 1>} : tensor<33x16xf32, #nn.axes<vocab, embed>>
    %logits = nn.einsum %x3, %head {at = #nn.at<F, "lm_head", 1>} : (tensor<4x8x16xf32, #nn.axes<batch, seq, embed>>, tensor<33x16xf32, #nn.axes<vocab, embed>>) -> tensor<4x8x33xf32, #nn.axes<batch, seq, vocab>>
    %loss, %lse = nn.cross_entropy %logits, %targets over "vocab" {at = #nn.at<F, "lm_head", 1>} : (tensor<4x8x33xf32, #nn.axes<batch, seq, vocab>>, tensor<4x8xi32, #nn.axes<batch, seq>>) -> (tensor<4x8xf32, #nn.axes<batch, seq>>, tensor<4x8xf32, #nn.axes<batch, seq>>)
    %sum = nn.sum %loss {at = #nn.at<F, "lm_head", 1>} : (tensor<4x8xf32, #nn.axes<batch, seq>>) -> tensor<f32, #nn.axes<>>
    %wide = nn.convert %sum {at = #nn.at<F, "lm_head", 1>} : (tensor<f32, #nn.axes<>>) -> tensor<f64, #nn.axes<>>
    nn.accumulate @"#out.loss.sum", %wide {at = #nn.at<F, "lm_head", 1>} : tensor<f64, #nn.axes<>>
    return
  }
}
