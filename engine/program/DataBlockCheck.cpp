// Checks what a program says of where its inputs come from, so that the engine may open the files without asking.
#include "engine/program/Checks.h"
#include "engine/program/PictureInput.h"
#include "engine/program/TextInput.h"
#include "engine/program/Words.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace npar::program {
namespace {

template <typename Enum> bool isValue(Enum value) { return value >= Enum::MIN && value <= Enum::MAX; }

class DataBlockCheck {
public:
  DataBlockCheck(const Program &program, const DataBlock &data) : program(program), data(data) {}

  std::string run() {
    if (!isValue(data.order()) || !isValue(data.last()))
      return name() + " has an unknown order or an unknown kind of last batch";
    double sum = 0;
    for (double share : *data.shares())
      if (!(share > 0) || !std::isfinite(sum += share))
        return name() + " has a part that is no share";
    if (sum > 1 + 1e-6)
      return name() + " has parts that are more than the whole";
    if (data.groups()->size() == 0)
      return name() + " has no files";
    for (const DataGroup *group : *data.groups())
      if (std::string wrong = checkGroup(*group); !wrong.empty())
        return wrong;
    for (const auto *steps : {data.training(), data.evaluation()})
      if (std::string wrong = checkSteps(steps); !wrong.empty())
        return wrong;
    bool ignores = false;
    for (uint32_t i = 0; i < program.inputs()->size(); ++i) {
      if (!fed.count(i))
        return name() + " does not feed input '" + program.inputs()->Get(i)->name()->str() + "'";
      ignores |= program.inputs()->Get(i)->ignore().has_value();
    }
    if (program.kind() == ProgramKind::Training && data.last() == DataLast::Pad && !ignores)
      return name() + " fills up batches, but every target counts";
    return "";
  }

private:
  std::string name() const { return "data block '" + data.name()->str() + "'"; }

  std::string checkGroup(const DataGroup &group) {
    if (group.files()->size() == 0 || group.files()->size() != data.groups()->Get(0)->files()->size())
      return name() + " has groups of different numbers of files, or of none";
    uint64_t weights = 0;
    for (const DataFile *file : *group.files()) {
      if (!isValue(file->format()) || kindOf(*file) != kindOf(*data.groups()->Get(0)->files()->Get(0)) ||
          (!isStream(file->format()) && file->lengths()->size()))
        return name() + " has a file of an unknown kind, or files of two kinds in a group";
      if ((file->weight() == 0) != (group.files()->Get(0)->weight() == 0) || (weights += file->weight()) > largestWeights)
        return name() + " has weights for some of its files, or too large ones";
    }
    DataFormat format = group.files()->Get(0)->format();
    if ((isStream(format) || hasTexts(format) || format == DataFormat::Images) && data.groups()->size() > 1)
      return name() + " has files in addition to a stream of tokens, a folder of pictures or texts";
    if (format == DataFormat::Idx && group.feeds()->size() != 1)
      return name() + " feeds several inputs by one array, or none";
    uint64_t elements = 0;
    for (const DataFeed *feed : *group.feeds())
      if (std::string wrong = checkFeed(*feed, format, elements); !wrong.empty())
        return wrong;
    for (const DataFeed *feed : *group.feeds())
      if (std::string wrong = feed->text() ? checkTextFeed(*feed, group) : ""; !wrong.empty())
        return wrong;
    return "";
  }

  /// The format, where all streams are one, and all texts.
  static DataFormat kindOf(const DataFile &file) {
    return isStream(file.format()) ? DataFormat::Bytes : hasTexts(file.format()) ? DataFormat::Csv : file.format();
  }

  std::string checkTextFeed(const DataFeed &feed, const DataGroup &group) const {
    const TextFeed &text = *feed.text();
    const LogicalInput &input = *program.inputs()->Get(feed.input());
    std::string which = name() + ", input '" + input.name()->str() + "'";
    if (!isValue(text.kind()) || !takesTextFeed(text.kind(), input.type(), *input.shape()))
      return which + " cannot be fed by texts in this way";
    const bool describesTokens = text.kind() == TextFeedKind::Valid || text.kind() == TextFeedKind::Segment;
    const uint64_t columns = text.columns()->size(), most = text.kind() == TextFeedKind::Tokens  ? 2
                                                            : text.kind() == TextFeedKind::Class ? 1
                                                            : input.shape()->size() == 1         ? 1
                                                                                         : static_cast<uint64_t>(input.shape()->Get(1));
    if (describesTokens ? columns != 0 : columns == 0 || columns > most || (text.kind() == TextFeedKind::Number && columns != most))
      return which + " takes another number of columns";
    for (const flatbuffers::String *column : *text.columns())
      if (text.numbered() && (column->size() == 0 || column->size() > 6 ||
                              column->str().find_first_not_of("0123456789") != std::string::npos || column->str()[0] == '0'))
        return which + " has a column that is no number";
    auto isTokens = [&](const DataFeed *other) {
      return other->input() == text.of() && other->text() && other->text()->kind() == TextFeedKind::Tokens &&
             program.inputs()->Get(other->input())->shape()->Get(1) == input.shape()->Get(1);
    };
    if (describesTokens && std::none_of(group.feeds()->begin(), group.feeds()->end(), isTokens))
      return which + " describes tokens that the file does not feed";
    return "";
  }

  static bool takesPictures(const LogicalInput &input) { return holdsPictures(input.type(), *input.shape()); }

  std::string checkSteps(const flatbuffers::Vector<flatbuffers::Offset<PictureStep>> *steps) const {
    if (!steps)
      return "";
    for (const PictureStep *step : *steps) {
      const auto &numbers = *step->numbers();
      auto within = [&](uint32_t least, uint32_t most, double smallest, double largest) {
        return numbers.size() >= least && numbers.size() <= most &&
               std::all_of(numbers.begin(), numbers.end(), [&](double number) { return number >= smallest && number <= largest; });
      };
      bool good = isValue(step->kind()) && isValue(step->interpolation());
      switch (step->kind()) {
      case PictureStepKind::Resize:
        good &= within(0, 2, 1, largestPicture);
        break;
      case PictureStepKind::CenterCrop:
        good &= numbers.size() == 0;
        break;
      case PictureStepKind::RandomCrop:
        good &= within(1, 1, 0, largestPicture);
        break;
      case PictureStepKind::RandomResizedCrop:
        good &= within(4, 4, 1e-38, 1000) && numbers[0] <= numbers[1] && numbers[1] <= 1 && numbers[2] <= numbers[3];
        break;
      case PictureStepKind::Flip:
        good &= within(1, 1, 0, 1);
        break;
      }
      if (!good)
        return name() + " has a step for pictures of an unknown kind, or with numbers that it cannot have";
    }
    return "";
  }

  std::string checkFeed(const DataFeed &feed, DataFormat format, uint64_t &elements) {
    if (feed.input() >= program.inputs()->size() || !fed.insert(feed.input()).second)
      return name() + " feeds an input that there is not, or feeds one twice";
    const LogicalInput &input = *program.inputs()->Get(feed.input());
    std::string which = name() + ", input '" + input.name()->str() + "'";
    bool integer = isInteger(input.type());
    if (feed.below() < 0 || (feed.below() && !integer) || feed.shift() > largestShift)
      return which + ": a bound or a shift that there cannot be";
    if ((feed.text() != nullptr) != hasTexts(format))
      return which + ": texts feed inputs by their columns, and other files do not";
    if (feed.folder_class() && format != DataFormat::Images)
      return which + ": only a folder of pictures has classes";
    if (format == DataFormat::Images && (feed.folder_class() ? !integer || input.shape()->size() != 1 : !takesPictures(input)))
      return which + " cannot be fed by a folder of pictures";
    if (format == DataFormat::Idx && (!integer || (input.shape()->size() > 2 && !takesPictures(input))))
      return which + " cannot be fed by an IDX file";
    if (!isStream(format))
      return "";
    if (input.shape()->size() != 2 || (!integer && !feed.valid()) || (elements && elements != static_cast<uint64_t>(input.shape()->Get(1))))
      return which + " cannot be fed by a stream of tokens";
    elements = static_cast<uint64_t>(input.shape()->Get(1));
    return "";
  }

  static constexpr double largestPicture = 16384;
  static constexpr uint32_t largestShift = 65536;
  static constexpr uint64_t largestWeights = INT32_MAX / 1024;
  const Program &program;
  const DataBlock &data;
  std::set<uint32_t> fed;
};

} // namespace

std::string checkData(const Program &program) { return program.data() ? DataBlockCheck(program, *program.data()).run() : ""; }

} // namespace npar::program
