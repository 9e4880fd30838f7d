// The tables of Words.h. No switch here has a default, so that the compiler names the word that a new value lacks.
#include "engine/program/Words.h"

#include "engine/program/Elements.h"

#include <stdexcept>
#include <string>

namespace npar::program {
namespace {

[[noreturn]] void refuse(const char *enumeration, unsigned number) {
  throw std::logic_error("internal error: " + std::to_string(number) + " is no " + enumeration);
}

template <typename Enum> struct Values;
template <> struct Values<ElementType> { static constexpr auto &all = EnumValuesElementType; };
template <> struct Values<Phase> { static constexpr auto &all = EnumValuesPhase; };
template <> struct Values<StepKind> { static constexpr auto &all = EnumValuesStepKind; };
template <> struct Values<CollectiveKind> { static constexpr auto &all = EnumValuesCollectiveKind; };
template <> struct Values<ReduceOp> { static constexpr auto &all = EnumValuesReduceOp; };
template <> struct Values<VariableKind> { static constexpr auto &all = EnumValuesVariableKind; };
template <> struct Values<InitKind> { static constexpr auto &all = EnumValuesInitKind; };
template <> struct Values<InputRole> { static constexpr auto &all = EnumValuesInputRole; };
template <> struct Values<ProgramKind> { static constexpr auto &all = EnumValuesProgramKind; };
template <> struct Values<DataFormat> { static constexpr auto &all = EnumValuesDataFormat; };
template <> struct Values<DataOrder> { static constexpr auto &all = EnumValuesDataOrder; };
template <> struct Values<TextFeedKind> { static constexpr auto &all = EnumValuesTextFeedKind; };
template <> struct Values<PictureStepKind> { static constexpr auto &all = EnumValuesPictureStepKind; };
template <> struct Values<Interpolation> { static constexpr auto &all = EnumValuesInterpolation; };
template <> struct Values<DataLast> { static constexpr auto &all = EnumValuesDataLast; };
template <> struct Values<CheckpointRuleKind> { static constexpr auto &all = EnumValuesCheckpointRuleKind; };
template <> struct Values<RateSchedule> { static constexpr auto &all = EnumValuesRateSchedule; };
template <> struct Values<LengthUnit> { static constexpr auto &all = EnumValuesLengthUnit; };
template <> struct Values<MeasureKind> { static constexpr auto &all = EnumValuesMeasureKind; };
template <> struct Values<ProductOrder> { static constexpr auto &all = EnumValuesProductOrder; };
template <> struct Values<Grouping> { static constexpr auto &all = EnumValuesGrouping; };
template <> struct Values<Tier> { static constexpr auto &all = EnumValuesTier; };
template <> struct Values<CauseKind> { static constexpr auto &all = EnumValuesCauseKind; };

} // namespace

const char *wordOf(ElementType type) { return rowOf(type).word; }

const char *wordOf(Phase phase) {
  switch (phase) {
  case Phase::Prologue:
    return "P";
  case Phase::Count:
    return "C";
  case Phase::Forward:
    return "F";
  case Phase::Backward:
    return "B";
  case Phase::Weight:
    return "W";
  case Phase::Update:
    return "U";
  }
  refuse("phase", static_cast<unsigned>(phase));
}

const char *wordOf(StepKind kind) {
  switch (kind) {
  case StepKind::Kernel:
    return "kernel";
  case StepKind::Matmul:
    return "matmul";
  case StepKind::Collective:
    return "collective";
  case StepKind::Send:
    return "send";
  case StepKind::Receive:
    return "receive";
  case StepKind::Zero:
    return "zero";
  case StepKind::Copy:
    return "copy";
  case StepKind::Attention:
    return "attention";
  }
  refuse("kind of step", static_cast<unsigned>(kind));
}

const char *wordOf(CollectiveKind kind) {
  switch (kind) {
  case CollectiveKind::AllReduce:
    return "all_reduce";
  case CollectiveKind::AllGather:
    return "all_gather";
  case CollectiveKind::ReduceScatter:
    return "reduce_scatter";
  case CollectiveKind::AllToAll:
    return "all_to_all";
  case CollectiveKind::Permute:
    return "permute";
  }
  refuse("kind of collective", static_cast<unsigned>(kind));
}

const char *wordOf(ReduceOp op) {
  switch (op) {
  case ReduceOp::Sum:
    return "sum";
  case ReduceOp::Max:
    return "max";
  case ReduceOp::RoundedSum:
    return "rounded_sum";
  }
  refuse("reduction", static_cast<unsigned>(op));
}

const char *wordOf(VariableKind kind) {
  switch (kind) {
  case VariableKind::Parameter:
    return "parameter";
  case VariableKind::State:
    return "state";
  case VariableKind::Accumulator:
    return "accumulator";
  case VariableKind::Output:
    return "output";
  }
  refuse("kind of variable", static_cast<unsigned>(kind));
}

const char *wordOf(InitKind kind) {
  switch (kind) {
  case InitKind::Zeros:
    return "zeros";
  case InitKind::Ones:
    return "ones";
  case InitKind::Normal:
    return "normal";
  case InitKind::Constant:
    return "constant";
  case InitKind::Uniform:
    return "uniform";
  }
  refuse("kind of initial values", static_cast<unsigned>(kind));
}

bool hasNumber(InitKind kind) { return kind != InitKind::Zeros && kind != InitKind::Ones; }

const char *wordOf(InputRole role) {
  switch (role) {
  case InputRole::Other:
    return "other";
  case InputRole::Stream:
    return "stream";
  case InputRole::Shifted:
    return "shifted";
  }
  refuse("role of an input", static_cast<unsigned>(role));
}

const char *wordOf(ProgramKind kind) {
  switch (kind) {
  case ProgramKind::Training:
    return "training";
  case ProgramKind::Evaluation:
    return "evaluation";
  case ProgramKind::Generation:
    return "generation";
  }
  refuse("kind of program", static_cast<unsigned>(kind));
}

const char *wordOf(DataFormat format) {
  switch (format) {
  case DataFormat::Tensors:
    return "tensors";
  case DataFormat::Bytes:
    return "bytes";
  case DataFormat::U16:
    return "u16";
  case DataFormat::I32:
    return "i32";
  case DataFormat::Idx:
    return "idx";
  case DataFormat::Images:
    return "images";
  case DataFormat::Csv:
    return "csv";
  case DataFormat::Tsv:
    return "tsv";
  case DataFormat::JsonLines:
    return "jsonl";
  case DataFormat::Lines:
    return "lines";
  }
  refuse("format of data", static_cast<unsigned>(format));
}

const char *wordOf(TextFeedKind kind) {
  switch (kind) {
  case TextFeedKind::Tokens:
    return "encode";
  case TextFeedKind::Valid:
    return "valid";
  case TextFeedKind::Segment:
    return "segment";
  case TextFeedKind::Class:
    return "class";
  case TextFeedKind::Number:
    return "number";
  }
  refuse("kind of feed from texts", static_cast<unsigned>(kind));
}

const char *wordOf(PictureStepKind kind) {
  switch (kind) {
  case PictureStepKind::Resize:
    return "resize";
  case PictureStepKind::CenterCrop:
    return "center_crop";
  case PictureStepKind::RandomCrop:
    return "random_crop";
  case PictureStepKind::RandomResizedCrop:
    return "random_resized_crop";
  case PictureStepKind::Flip:
    return "flip";
  }
  refuse("step of pictures", static_cast<unsigned>(kind));
}

const char *wordOf(Interpolation interpolation) {
  switch (interpolation) {
  case Interpolation::Antialiased:
    return "antialiased";
  case Interpolation::Bilinear:
    return "bilinear";
  case Interpolation::Nearest:
    return "nearest";
  }
  refuse("interpolation", static_cast<unsigned>(interpolation));
}

const char *wordOf(DataOrder order) {
  switch (order) {
  case DataOrder::Shuffled:
    return "shuffled";
  case DataOrder::Sequential:
    return "sequential";
  }
  refuse("order of samples", static_cast<unsigned>(order));
}

const char *wordOf(RateSchedule schedule) {
  switch (schedule) {
  case RateSchedule::Constant:
    return "constant";
  case RateSchedule::Linear:
    return "linear";
  case RateSchedule::Cosine:
    return "cosine";
  case RateSchedule::Step:
    return "step";
  case RateSchedule::Exponential:
    return "exponential";
  }
  refuse("schedule of a learning rate", static_cast<unsigned>(schedule));
}

const char *wordOf(LengthUnit unit) {
  switch (unit) {
  case LengthUnit::Steps:
    return "steps";
  case LengthUnit::Epochs:
    return "epochs";
  case LengthUnit::Run:
    return "run";
  }
  refuse("unit of length", static_cast<unsigned>(unit));
}

const char *wordOf(MeasureKind kind) {
  switch (kind) {
  case MeasureKind::Loss:
    return "loss";
  case MeasureKind::Mean:
    return "mean";
  case MeasureKind::Perplexity:
    return "perplexity";
  case MeasureKind::F1:
    return "f1";
  case MeasureKind::Correlation:
    return "correlation";
  }
  refuse("kind of measure", static_cast<unsigned>(kind));
}

const char *wordOf(ProductOrder order) {
  switch (order) {
  case ProductOrder::Fastest:
    return "fastest";
  case ProductOrder::Portable:
    return "portable";
  case ProductOrder::Pairs:
    return "pairs";
  }
  refuse("order of products", static_cast<unsigned>(order));
}

const char *wordOf(Tier tier) {
  switch (tier) {
  case Tier::Device:
    return "device";
  case Tier::Host:
    return "host";
  case Tier::File:
    return "file";
  }
  refuse("tier", static_cast<unsigned>(tier));
}

const char *wordOf(Grouping grouping) {
  switch (grouping) {
  case Grouping::None:
    return "none";
  case Grouping::Rows:
    return "rows";
  case Grouping::Depth:
    return "depth";
  }
  refuse("grouping", static_cast<unsigned>(grouping));
}

const char *wordOf(DataLast last) {
  switch (last) {
  case DataLast::Join:
    return "join";
  case DataLast::Drop:
    return "drop";
  case DataLast::Pad:
    return "pad";
  }
  refuse("kind of last batch", static_cast<unsigned>(last));
}

const char *wordOf(CheckpointRuleKind kind) {
  switch (kind) {
  case CheckpointRuleKind::Rename:
    return "rename";
  case CheckpointRuleKind::Ignore:
    return "ignore";
  case CheckpointRuleKind::Same:
    return "same";
  case CheckpointRuleKind::Fresh:
    return "fresh";
  }
  refuse("kind of checkpoint rule", static_cast<unsigned>(kind));
}

const char *wordOf(CauseKind kind) {
  switch (kind) {
  case CauseKind::None:
    return "none";
  case CauseKind::SumsOverSplit:
    return "sums_over_split";
  case CauseKind::ReducesSplit:
    return "reduces_split";
  case CauseKind::AddsOwned:
    return "adds_owned";
  case CauseKind::Accumulated:
    return "accumulated";
  case CauseKind::WantsSplit:
    return "wants_split";
  case CauseKind::WantsWhole:
    return "wants_whole";
  case CauseKind::WantsOrder:
    return "wants_order";
  case CauseKind::StoresShare:
    return "stores_share";
  case CauseKind::UpdatedInShares:
    return "updated_in_shares";
  case CauseKind::StoredInShares:
    return "stored_in_shares";
  case CauseKind::UpdatesShare:
    return "updates_share";
  case CauseKind::PassesRound:
    return "passes_round";
  }
  refuse("kind of cause", static_cast<unsigned>(kind));
}

const char *describe(Phase phase) {
  switch (phase) {
  case Phase::Prologue:
    return "prologue";
  case Phase::Count:
    return "counting the positions of the loss";
  case Phase::Forward:
    return "forward";
  case Phase::Backward:
    return "backward";
  case Phase::Weight:
    return "weight gradient";
  case Phase::Update:
    return "update";
  }
  refuse("phase", static_cast<unsigned>(phase));
}

template <typename Enum> std::optional<Enum> valueOf(std::string_view word) {
  for (Enum value : Values<Enum>::all())
    if (word == wordOf(value))
      return value;
  return std::nullopt;
}

template <typename Enum> std::string wordsOf() {
  std::string words;
  for (Enum value : Values<Enum>::all())
    words += (words.empty() ? "" : ", ") + std::string(wordOf(value));
  return words;
}

template std::optional<ElementType> valueOf(std::string_view);
template std::optional<Phase> valueOf(std::string_view);
template std::optional<StepKind> valueOf(std::string_view);
template std::optional<CollectiveKind> valueOf(std::string_view);
template std::optional<ReduceOp> valueOf(std::string_view);
template std::optional<VariableKind> valueOf(std::string_view);
template std::optional<InitKind> valueOf(std::string_view);
template std::optional<InputRole> valueOf(std::string_view);
template std::optional<ProgramKind> valueOf(std::string_view);
template std::optional<DataFormat> valueOf(std::string_view);
template std::optional<DataOrder> valueOf(std::string_view);
template std::optional<TextFeedKind> valueOf(std::string_view);
template std::optional<PictureStepKind> valueOf(std::string_view);
template std::optional<Interpolation> valueOf(std::string_view);
template std::optional<DataLast> valueOf(std::string_view);
template std::optional<RateSchedule> valueOf(std::string_view);
template std::optional<LengthUnit> valueOf(std::string_view);
template std::optional<MeasureKind> valueOf(std::string_view);
template std::optional<ProductOrder> valueOf(std::string_view);
template std::optional<Grouping> valueOf(std::string_view);
template std::optional<CheckpointRuleKind> valueOf(std::string_view);
template std::optional<Tier> valueOf(std::string_view);
template std::optional<CauseKind> valueOf(std::string_view);

template std::string wordsOf<ElementType>();
template std::string wordsOf<Phase>();
template std::string wordsOf<StepKind>();
template std::string wordsOf<CollectiveKind>();
template std::string wordsOf<ReduceOp>();
template std::string wordsOf<VariableKind>();
template std::string wordsOf<InitKind>();
template std::string wordsOf<InputRole>();
template std::string wordsOf<ProgramKind>();
template std::string wordsOf<DataFormat>();
template std::string wordsOf<DataOrder>();
template std::string wordsOf<PictureStepKind>();
template std::string wordsOf<Interpolation>();
template std::string wordsOf<DataLast>();
template std::string wordsOf<RateSchedule>();
template std::string wordsOf<LengthUnit>();
template std::string wordsOf<MeasureKind>();
template std::string wordsOf<ProductOrder>();
template std::string wordsOf<Grouping>();
template std::string wordsOf<CheckpointRuleKind>();
template std::string wordsOf<Tier>();
template std::string wordsOf<CauseKind>();

} // namespace npar::program
