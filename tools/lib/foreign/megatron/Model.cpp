// Finds the model that flags of Megatron-LM describe: Gpt2 or Llama of the standard library if they compute exactly that, else Decoder.
#include "tools/lib/foreign/megatron/Megatron.h"

#include <algorithm>
#include <fmt/format.h>

namespace npar::foreign {
namespace {

/// The vocabulary size as Megatron pads it, for the embedding table and the loss.
int64_t vocabulary(Reading &in, int64_t tp) {
  const ForeignEntry *padded = in.find("padded_vocab_size"), *given = in.find("vocab_size"), *more = in.find("vocab_extra_ids"),
                     *multiple = in.find("make_vocab_size_divisible_by");
  const ForeignEntry *type = in.find("tokenizer_type"), *merges = in.find("merge_file"), *pads = in.find("pad_vocab_size");
  bool isWhole = in.isTrue(in.findAny({"no_pad_vocab_size", "disable_pad_vocab_size"})) || (pads && !in.isTrue(pads));
  if (padded)
    return in.whole(padded, 1, 1, Reading::mostSize);
  int64_t vocab = in.whole(given, 0, 1, Reading::mostSize), step = isWhole ? 1 : in.whole(multiple, 128) * tp;
  if (!given && (merges || in.word(type, "") == "GPT2BPETokenizer")) {
    vocab = 50257;
    in.run.assumed.push_back("the vocabulary of GPT-2's tokenizer has 50,257 tokens");
  }
  if (vocab == 0)
    return 0;
  vocab += in.whole(more, 0, 0, Reading::mostSize);
  int64_t whole = (vocab + step - 1) / step * step;
  if (whole != vocab)
    in.run.assumed.push_back(
        fmt::format("a vocabulary of {} is padded to {}, a multiple of {} * tp, as Megatron-LM does", vocab, whole, step / tp));
  return whole;
}

/// The function between the products of the feed-forward layer, as Decoder names it, and whether it is gated.
std::pair<std::string, bool> activation(Reading &in) {
  if (in.isTrue(in.find("swiglu")))
    return {"silu", true};
  if (const ForeignEntry *quick = in.find("quick_geglu"); in.isTrue(quick))
    in.differs(quick, "the feed-forward layer has GELU and no gate");
  return {in.isTrue(in.find("squared_relu")) ? "squared_relu" : "gelu", false};
}

/// Calls `in.error` unless the value is a rate of dropout.
double dropout(Reading &in, const ForeignEntry *entry) {
  double rate = in.number(entry, 0.1);
  if (!(rate >= 0 && rate < 1))
    in.error(*entry, fmt::format("'{}' is {}, a dropout is at least 0 and less than 1", entry->key, entry->value.substr(0, 60)));
  return rate;
}

/// "rotary", "table" or "absent". Other kinds of positions are named as a difference.
std::string positions(Reading &in) {
  const ForeignEntry *kind = in.find("position_embedding_type"), *rotary = in.find("use_rotary_position_embeddings"),
                     *percent = in.find("rotary_percent");
  std::string word = in.word(kind, "learned_absolute");
  std::string found = in.isTrue(rotary) || word == "rope" || word == "rotary" ? "rotary" // the second words are those of forks
                      : word == "none"                                        ? "absent"
                      : word == "learned_absolute" || word == "absolute"      ? "table"
                                                                              : "";
  if (found.empty())
    in.differs(kind, "the model has rotary positions"), found = "rotary";
  if (found == "rotary" && percent && in.number(percent, 1) != 1)
    in.differs(percent, "the model turns all features of a head");
  return found;
}

} // namespace

void refuseModel(Reading &in) {
  const ForeignEntry *program = in.find(""), *decoder = in.findAny({"decoder_num_layers", "decoder_seq_length"}),
                     *vision = in.peek("vision_model_type");
  const std::string path = program ? program->value : "", name = path.substr(std::min(path.rfind('/') + 1, path.size()));
  if (vision || path.find("multimodal") != std::string::npos)
    return in.error(vision ? *vision : *program, "npar has no model of images and text");
  bool isT5 = path.find("t5") != std::string::npos;
  if (isT5 || decoder) {
    in.diagnostics
        .error(dsl::Code::F2, (isT5 ? program : decoder)->at, "npar does not read a T5, with an encoder and a decoder, from flags")
        .help((isT5 ? program : decoder)->at, "`npar simulate t5 --config t5-base` simulates a T5 of the standard library");
    return;
  }
  if (!program || path.find("gpt") != std::string::npos)
    return;
  const std::string why = "its flags are read as those of pretrain_gpt.py: blocks that attend to what comes before";
  for (const char *other : {"bert", "mamba", "hybrid", "vision", "retro", "ict"})
    if (name.find(other) != std::string::npos)
      return in.differs(program, why);
  in.leave(program, why);
}

void readMegatronModel(Reading &in, const ForeignHints &hints) {
  ForeignRun &run = in.run;
  const ForeignEntry *layers = in.findAny({"num_layers", "encoder_num_layers"}), *hidden = in.find("hidden_size"),
                     *headsAt = in.find("num_attention_heads");
  const ForeignEntry *norm = in.find("normalization"), *untie = in.find("untie_embeddings_and_output_weights"),
                     *grouped = in.find("group_query_attention"), *groups = in.find("num_query_groups"),
                     *older = in.find("num_key_value_heads"); // of Megatron-DeepSpeed, where no other flag is needed
  const ForeignEntry *noBias = in.find("disable_bias_linear"), *bias = in.find("add_bias_linear"), *qkvBias = in.find("add_qkv_bias"),
                     *inner = in.find("ffn_hidden_size"), *channels = in.find("kv_channels"), *queryNorm = in.find("qk_layernorm");
  const ForeignEntry *hiddenDropout = in.find("hidden_dropout"), *attentionDropout = in.find("attention_dropout"),
                     *epsilon = in.findAny({"norm_epsilon", "layernorm_epsilon"}),
                     *base = in.findAny({"rotary_base", "rotary_position_embeddings_theta"}), *scaled = in.find("use_rope_scaling"),
                     *factor = in.find("rope_scaling_factor");
  run.layers = in.whole(layers, 0);
  int64_t width = in.whole(hidden, 0), heads = in.whole(headsAt, 0);
  if (!layers || !hidden || !headsAt) {
    const ForeignEntry *one = layers ? layers : hidden ? hidden : headsAt;
    if (one)
      in.diagnostics.error(dsl::Code::F2, one->at, "num_layers, hidden_size and num_attention_heads are needed together");
    return;
  }
  if (in.diagnostics.hasErrors())
    return;
  if (width % heads != 0 && !channels)
    in.error(*hidden, fmt::format("hidden_size {} is not divisible by num_attention_heads {}", width, heads));
  auto [function, isGated] = activation(in);
  std::string kind = in.word(norm, "LayerNorm"), where = positions(in);
  bool isRms = kind == "RMSNorm" || kind == "rmsnorm" || in.isTrue(in.find("apply_layernorm_rms"));
  if (!isRms && kind != "LayerNorm" && kind != "layernorm")
    in.differs(norm, "the model has LayerNorm");
  bool hasBias = noBias ? !in.isTrue(noBias) : !bias || in.isTrue(bias), hasQkvBias = hasBias || in.isTrue(qkvBias),
       isTied = !in.isTrue(untie), isNormed = in.isTrue(queryNorm);
  int64_t kvHeads = older ? in.whole(older, 1) : in.isTrue(grouped) ? in.whole(groups, 1) : heads, vocab = vocabulary(in, run.tp);
  int64_t mlp = in.whole(inner, isGated ? 4 * width * 2 / 3 / 64 * 64 : 4 * width), feature = in.whole(channels, width / heads);
  double residual = dropout(in, hiddenDropout), probabilities = dropout(in, attentionDropout);
  if (heads % kvHeads != 0)
    in.error(older    ? *older
             : groups ? *groups
                      : *headsAt,
             fmt::format("num_attention_heads {} is not divisible by num_query_groups {}", heads, kvHeads));
  if (isNormed && !isRms)
    in.differs(queryNorm, "queries and keys are normalized by their root mean square, not by LayerNorm");
  if (where == "rotary" && feature % 2 != 0)
    in.error(channels ? *channels : *hidden, fmt::format("rotary positions turn pairs of features: a head has {}", feature));
  bool isLlama = function == "silu" && isRms && where == "rotary" && !hasQkvBias && !isNormed && residual == 0 && probabilities == 0;
  const MegatronExperts experts = readMegatronExperts(in);
  bool isRouted = experts.count > 1, isQwen = isRouted && isNormed;
  bool isLlamaButForNorms = function == "silu" && isRms && where == "rotary" && !hasQkvBias && residual == 0 && probabilities == 0;
  if (isRouted && !isLlamaButForNorms)
    in.error(*in.findAny({"num_experts", "num_moe_experts"}),
             "npar's models with experts have --swiglu, --normalization RMSNorm, rotary positions, no biases and no dropout");
  bool isGpt2 = function == "gelu" && !isRms && where == "table" && hasBias && !isNormed && kvHeads == heads && heads * feature == width &&
                isTied && probabilities == 0;
  run.model = isQwen ? "qwen3_moe" : isRouted ? "mixtral" : isLlama ? "llama" : isGpt2 ? "gpt2" : "decoder";
  int64_t context = in.whole(in.find("max_position_embeddings"), run.length, 1, Reading::mostSize);
  if (vocab == 0 && !hints.vocabularyIsKnown)
    in.diagnostics.error(dsl::Code::F2, layers->at, "the file does not state the vocabulary size")
        .help(layers->at, "add --vocab-size to the file, or give --set vocab=N");
  auto constant = [&](const char *name, const auto &value, bool isGiven = true) {
    run.constants.push_back({name, fmt::format("{}", value), isGiven ? Origin::File : Origin::Program});
  };
  if (vocab > 0)
    constant("vocab", vocab);
  constant("context", std::max(context, run.length));
  constant("length", run.length);
  constant("width", width);
  constant("heads", heads);
  constant("depth", run.layers);
  if (isRouted)
    constant("experts", experts.count), constant("chosen", experts.chosen),
        constant("mlp", in.whole(experts.width, mlp), experts.width || inner);
  else
    constant(isLlama ? "mlp" : "inner", mlp, inner);
  constant("epsilon", in.number(epsilon, 1e-5), epsilon);
  if (isGpt2) {
    if (residual > 0)
      constant("dropout", residual, hiddenDropout);
    return;
  }
  constant("kv_heads", kvHeads);
  constant("head_dim", feature);
  if (where == "rotary")
    constant("theta", in.number(base, 10000), base);
  constant("tied", isTied, untie);
  if (in.isTrue(scaled) && isLlama && !isRouted) { // RotaryEmbedding._apply_scaling of megatron/core/models/common/embeddings
    constant("rope", "llama3", scaled);
    constant("rope_factor", in.number(factor, 8), factor);
    constant("rope_low", 1), constant("rope_high", 4), constant("rope_original", 8192);
  } else if (in.isTrue(scaled) && where == "rotary") {
    in.differs(scaled, "rotary positions are plain");
  }
  if (isLlama || isRouted)
    return;
  constant("norm", isRms ? "rms_norm" : "layer_norm", norm);
  constant("positions", where, in.peek("position_embedding_type") || in.peek("use_rotary_position_embeddings"));
  bool isStated = in.peek("swiglu") || in.peek("squared_relu");
  constant("activation", function, isStated);
  constant("gated", isGated, isStated);
  constant("biased", hasBias, noBias || bias);
  constant("qkv_biased", hasQkvBias, noBias || bias || qkvBias);
  constant("normed", isNormed ? "head" : "no", queryNorm);
  constant("dropout", residual, hiddenDropout);
  constant("probability_dropout", probabilities, attentionDropout);
}

} // namespace npar::foreign
