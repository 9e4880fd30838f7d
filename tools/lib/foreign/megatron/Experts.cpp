// Reads the flags of Megatron-LM for experts that tokens are sent to, and refuses by name those that npar's models do not have.
#include "tools/lib/foreign/megatron/Megatron.h"

#include <fmt/format.h>

#include <sstream>

namespace npar::foreign {
namespace {

bool isOff(const ForeignEntry &entry) {
  return entry.value == "false" || entry.value == "0" || entry.value == "0.0" || entry.value == "None" || entry.value == "none";
}

/// Flags of the model that only runs with experts need.
constexpr const char *ofExperts[] = {"moe_apply_probs_on_input",
                                     "moe_aux_loss_coeff",
                                     "moe_expert_capacity_factor",
                                     "moe_expert_rank_capacity_factor",
                                     "moe_ffn_hidden_size",
                                     "moe_input_jitter_eps",
                                     "moe_latent_size",
                                     "moe_layer_freq",
                                     "moe_router_enable_expert_bias",
                                     "moe_router_group_topk",
                                     "moe_router_force_load_balancing",
                                     "moe_router_load_balancing_type",
                                     "moe_router_num_groups",
                                     "moe_router_pre_softmax",
                                     "moe_router_score_function",
                                     "moe_router_topk",
                                     "moe_router_topk_scaling_factor",
                                     "moe_z_loss_coeff",
                                     "moe_shared_expert_intermediate_size"};

/// Flags with which tokens go elsewhere, or mean something else there.
void refuseRouters(Reading &in) {
  for (const auto &[name, why] :
       {std::pair("moe_router_pre_softmax", "the scores of all experts are weights as they are, not those of the chosen ones alone"),
        {"moe_router_num_groups", "experts are chosen in groups"},
        {"moe_router_group_topk", "experts are chosen in groups"},
        {"moe_router_topk_scaling_factor", "weights are scaled"},
        {"moe_router_enable_expert_bias", "a bias of the training's own chooses"},
        {"moe_apply_probs_on_input", "weights multiply what experts get"},
        {"moe_expert_rank_capacity_factor", "tokens beyond a rank's capacity are dropped, so that the loss depends on the number of ranks"},
        {"moe_expert_capacity_factor", "tokens beyond a rank's capacity are dropped, so that the loss depends on the number of ranks"},
        {"moe_shared_expert_intermediate_size", "an expert is shared by all tokens"},
        {"moe_router_force_load_balancing", "tokens go to experts at random"},
        {"moe_latent_size", "experts work on a projection of the tokens"}})
    if (const ForeignEntry *entry = in.find(name); entry && !isOff(*entry))
      in.error(*entry, fmt::format("npar reads no model of which '{}' says that {}; --model-config reads one from config.json", name, why));
  if (const ForeignEntry *score = in.find("moe_router_score_function"); score && score->value != "softmax")
    in.error(*score, "npar reads routers with 'softmax' scores, not '" + score->value.substr(0, 40) +
                         "'; --model-config reads one from config.json");
  if (const ForeignEntry *layers = in.find("moe_layer_freq"); layers && layers->value != "1")
    in.error(*layers, "npar reads models whose layers all have experts; --model-config reads others from config.json");
}

/// The ways to balance experts may be several, each with a coefficient.
void checkBalancing(Reading &in, const ForeignEntry &kind) {
  std::istringstream words(kind.value);
  for (std::string word; words >> word;)
    if (word != "aux_loss" && word != "seq_aux_loss" && word != "global_aux_loss" && word != "sinkhorn" && word != "none")
      in.error(kind,
               fmt::format("'{}' is aux_loss, seq_aux_loss, global_aux_loss, sinkhorn or none, not '{}'", kind.key, word.substr(0, 40)));
}

/// Terms of the loss that npar's models do not have.
void leaveLosses(Reading &in) {
  const ForeignEntry *balance = in.find("moe_aux_loss_coeff"), *kind = in.find("moe_router_load_balancing_type");
  if (kind)
    checkBalancing(in, *kind);
  if (balance && !isOff(*balance) && in.word(kind, "aux_loss") != "none" && in.word(kind, "aux_loss") != "sinkhorn")
    in.differs(balance, "the loss has no term that balances experts");
  if (kind && kind->value == "sinkhorn")
    in.differs(kind, "each token goes to the experts that score best");
  if (const ForeignEntry *z = in.find("moe_z_loss_coeff"); z && !isOff(*z))
    in.differs(z, "the loss has no term of the router's logits");
  if (const ForeignEntry *jitter = in.find("moe_input_jitter_eps"); jitter && !isOff(*jitter))
    in.differs(jitter, "the router sees tokens without noise");
}

/// Ranks share experts in equal parts, and nothing else.
void checkSharing(Reading &in, int64_t experts) {
  const ForeignEntry *ep = in.find("expert_model_parallel_size");
  if (!ep || in.run.ep == 1)
    return;
  if (experts <= 1)
    in.error(*ep, "ranks share experts, and the model has none: remove the flag or add --num-experts");
  else if (experts % in.run.ep != 0)
    in.error(*ep, fmt::format("ep {} does not divide the {} experts", in.run.ep, experts));
}

} // namespace

MegatronExperts readMegatronExperts(Reading &in) {
  const ForeignEntry *count = in.findAny({"num_experts", "num_moe_experts"}), *chosen = in.find("moe_router_topk");
  MegatronExperts experts;
  for (const char *name : ofExperts) // lists of arguments have them without experts too
    in.find(name);
  if (!count) {
    checkSharing(in, 0);
    return experts;
  }
  if (count->value.find(' ') != std::string::npos) { // one number for each layer
    in.error(*count, "npar has no model whose layers have different numbers of experts ('" + count->key + "')");
    return experts;
  }
  experts.count = in.whole(count, 1, 0);
  checkSharing(in, experts.count);
  if (experts.count <= 1)
    return experts;
  experts.chosen = in.whole(chosen, 2);
  if (experts.chosen > experts.count)
    in.error(chosen ? *chosen : *count, fmt::format("a token goes to {} of {} experts", experts.chosen, experts.count));
  experts.width = in.find("moe_ffn_hidden_size");
  refuseRouters(in);
  leaveLosses(in);
  return experts;
}

void readMegatronExpertParallelism(Reading &in) {
  ForeignRun &run = in.run;
  const ForeignEntry *ep = in.find("expert_model_parallel_size"), *tp = in.find("expert_tensor_parallel_size"),
                     *how = in.find("moe_token_dispatcher_type");
  run.ep = in.whole(ep, 1);
  in.place("ep", ep);
  if (tp && run.ep > 1 && in.whole(tp, 1) != run.tp)
    in.error(*tp, fmt::format("npar's plan of this run splits experts like other layers, over tp {}", run.tp));
  if (how && how->value != "allgather" && how->value != "alltoall" && how->value != "alltoall_seq" && how->value != "flex")
    in.error(*how, "'moe_token_dispatcher_type' is allgather, alltoall or flex, not '" + how->value.substr(0, 40) + "'");
  if (how && run.ep > 1)
    run.expertsBy = how->value == "allgather" ? "gather" : "all_to_all";
}

void addMegatronExperts(MegatronFlags &flags, const ForeignRun &run) {
  if (run.ep == 1)
    return;
  flags.add("expert-model-parallel-size", run.ep);
  flags.add("expert-tensor-parallel-size", run.tp);
  if (!run.expertsBy.empty())
    flags.add("moe-token-dispatcher-type", run.expertsBy == "gather" ? "allgather" : "alltoall");
}

} // namespace npar::foreign
