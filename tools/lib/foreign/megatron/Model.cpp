// Finds the model that flags of Megatron-LM describe: Gpt2 or Llama of the standard library, whichever is closer.
#include "tools/lib/foreign/megatron/Megatron.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::foreign {
namespace {

/// The vocabulary size as Megatron pads it, for the embedding table and the loss.
int64_t vocabulary(Reading &in, int64_t tp) {
  const ForeignEntry *padded = in.find("padded_vocab_size"), *given = in.find("vocab_size"),
                     *multiple = in.find("make_vocab_size_divisible_by");
  const ForeignEntry *type = in.find("tokenizer_type"), *merges = in.find("merge_file");
  if (padded)
    return in.whole(padded, 1, 1, Reading::mostSize);
  int64_t vocab = in.whole(given, 0, 1, Reading::mostSize), step = in.whole(multiple, 128) * tp;
  if (!given && (merges || in.word(type, "") == "GPT2BPETokenizer")) {
    vocab = 50257;
    in.run.assumed.push_back("the vocabulary of GPT-2's tokenizer has 50,257 tokens");
  }
  if (vocab == 0)
    return 0;
  int64_t whole = (vocab + step - 1) / step * step;
  if (whole != vocab)
    in.run.assumed.push_back(
        fmt::format("a vocabulary of {} is padded to {}, a multiple of {} * tp, as Megatron-LM does", vocab, whole, step / tp));
  return whole;
}

} // namespace

void readMegatronModel(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *layers = in.find("num_layers"), *hidden = in.find("hidden_size"), *headsAt = in.find("num_attention_heads");
  const ForeignEntry *swiglu = in.find("swiglu"), *norm = in.find("normalization"), *untie = in.find("untie_embeddings_and_output_weights"),
                     *grouped = in.find("group_query_attention");
  const ForeignEntry *groups = in.find("num_query_groups"), *position = in.find("position_embedding_type"),
                     *rotary = in.find("use_rotary_position_embeddings");
  const ForeignEntry *noBias = in.find("disable_bias_linear"), *bias = in.find("add_bias_linear"), *inner = in.find("ffn_hidden_size"),
                     *channels = in.find("kv_channels");
  const ForeignEntry *hiddenDropout = in.find("hidden_dropout"), *attentionDropout = in.find("attention_dropout"),
                     *experts = in.findAny({"num_experts", "num_moe_experts"});
  const ForeignEntry *percent = in.find("rotary_percent");
  const ForeignEntry *epsilon = in.findAny({"norm_epsilon", "layernorm_epsilon"}), *base = in.find("rotary_base");
  if (experts && in.whole(experts, 1, 0) > 1)
    in.error(*experts, "npar has no model with experts that tokens are sent to ('" + experts->key + "')");
  run.layers = in.whole(layers, 0);
  int64_t width = in.whole(hidden, 0), heads = in.whole(headsAt, 0);
  if (!layers || !hidden || !headsAt) {
    if (layers || hidden || headsAt)
      in.diagnostics.error((layers   ? layers
                            : hidden ? hidden
                                     : headsAt)
                               ->at,
                           "num_layers, hidden_size and num_attention_heads say a model together");
    return;
  }
  if (in.diagnostics.hasErrors())
    return;
  if (width % heads != 0 && !channels)
    in.error(*hidden, fmt::format("hidden_size {} is not divisible by num_attention_heads {}", width, heads));
  bool gated = in.isTrue(swiglu), rms = in.word(norm, "LayerNorm") == "RMSNorm",
       rope = in.isTrue(rotary) || in.word(position, "") == "rope";
  bool hasBias = noBias ? !in.isTrue(noBias) : !bias || in.isTrue(bias), untied = in.isTrue(untie);
  int64_t kvHeads = in.isTrue(grouped) ? in.whole(groups, 1) : heads, vocab = vocabulary(in, run.tp);
  int64_t mlp = in.whole(inner, gated ? 4 * width * 2 / 3 / 64 * 64 : 4 * width), feature = in.whole(channels, width / heads);
  double dropout = in.number(hiddenDropout, 0.1), probabilities = in.number(attentionDropout, 0.1);
  for (auto [entry, value] : {std::pair(hiddenDropout, dropout), std::pair(attentionDropout, probabilities)})
    if (!(value >= 0 && value < 1))
      in.error(*entry, fmt::format("'{}' is {}, a dropout is at least 0 and less than 1", entry->key, entry->value.substr(0, 60)));
  if (heads % kvHeads != 0 && groups)
    in.error(*groups, fmt::format("num_attention_heads {} is not divisible by num_query_groups {}", heads, kvHeads));
  bool isLlama = gated || rms || kvHeads != heads || (rope && untied);
  run.model = isLlama ? "llama" : "gpt2";
  std::string name = isLlama ? "Llama" : "Gpt2";
  auto differs = [&](bool it, const ForeignEntry *entry, const std::string &why) {
    if (it)
      in.differs(entry, why);
  };
  if (isLlama) {
    differs(!gated, swiglu, "Llama's unit is gated (SwiGLU), Megatron-LM's without --swiglu is not: a third more products there");
    differs(!rms, norm, "Llama has RMSNorm");
    differs(!rope, position, "Llama has rotary embeddings");
    differs(hasBias, bias, "Llama's products have no biases; Megatron-LM's have, without --disable-bias-linear");
    differs(percent && in.number(percent, 1) != 1, percent, "Llama turns all of a head");
    differs(dropout > 0, hiddenDropout, "Llama has no dropout (Megatron-LM's hidden_dropout is 0.1 where it is not said)");
    differs(probabilities > 0 && dropout <= 0, attentionDropout,
            "Llama has no dropout (Megatron-LM's attention_dropout is 0.1 where it is not said)");
  } else {
    differs(rope, rotary ? rotary : position, "Gpt2 has a table of positions");
    differs(untied, untie, "Gpt2's output is projected by the embedding");
    differs(!hasBias, noBias ? noBias : bias, "Gpt2's products have biases");
    differs(feature != width / heads, channels, "Gpt2's heads share the width evenly");
    differs(dropout != probabilities, attentionDropout, "Gpt2 has one dropout for all: that of the residual stream");
    if (percent)
      in.find("rotary_percent");
  }
  int64_t context = in.whole(in.find("max_position_embeddings"), run.length, 1, Reading::mostSize);
  if (vocab > 0)
    run.constants.push_back({"vocab", std::to_string(vocab)});
  else if (!hints.vocabularyIsKnown)
    in.diagnostics.error(layers->at, "the file does not state the vocabulary size")
        .help(layers->at, "add --vocab-size to the file, or give --set vocab=N");
  auto constant = [&](const char *name, const auto &value, bool isGiven = true) {
    run.constants.push_back({name, fmt::format("{}", value), isGiven ? Origin::File : Origin::Program});
  };
  constant("context", std::max(context, run.length));
  constant("length", run.length);
  constant("width", width);
  constant("heads", heads);
  constant("depth", run.layers);
  constant(isLlama ? "mlp" : "inner", mlp, inner);
  constant("epsilon", in.number(epsilon, 1e-5), epsilon);
  if (isLlama) {
    constant("kv_heads", kvHeads);
    constant("head_dim", feature);
    constant("theta", in.number(base, 10000), base);
    constant("tied", untied ? "false" : "true", untie);
  } else if (dropout > 0) {
    constant("dropout", dropout, hiddenDropout);
  }
}

} // namespace npar::foreign
