// Checks what a program says of where its inputs come from, so that the engine may open the files without asking.
#include "engine/program/Checks.h"
#include "engine/program/Elements.h"

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
      if (!isValue(file->format()) || isStream(*file) != isStream(*group.files()->Get(0)) || (!isStream(*file) && file->lengths()->size()))
        return name() + " has a file of an unknown kind, or files of two kinds in a group";
      if ((file->weight() == 0) != (group.files()->Get(0)->weight() == 0) || (weights += file->weight()) > largestWeights)
        return name() + " has weights for some of its files, or too large ones";
    }
    bool stream = isStream(*group.files()->Get(0));
    if (stream && data.groups()->size() > 1)
      return name() + " has files in addition to a stream of tokens";
    uint64_t elements = 0;
    for (const DataFeed *feed : *group.feeds())
      if (std::string wrong = checkFeed(*feed, stream, elements); !wrong.empty())
        return wrong;
    return "";
  }

  static bool isStream(const DataFile &file) { return file.format() != DataFormat::Tensors; }

  std::string checkFeed(const DataFeed &feed, bool stream, uint64_t &elements) {
    if (feed.input() >= program.inputs()->size() || !fed.insert(feed.input()).second)
      return name() + " feeds an input that there is not, or feeds one twice";
    const LogicalInput &input = *program.inputs()->Get(feed.input());
    std::string which = name() + ", input '" + input.name()->str() + "'";
    bool integer = isInteger(input.type());
    if (feed.below() < 0 || (feed.below() && !integer) || feed.shift() > largestShift)
      return which + ": a bound or a shift that there cannot be";
    if (!stream)
      return "";
    if (input.shape()->size() != 2 || (!integer && !feed.valid()) || (elements && elements != static_cast<uint64_t>(input.shape()->Get(1))))
      return which + " cannot be fed by a stream of tokens";
    elements = static_cast<uint64_t>(input.shape()->Get(1));
    return "";
  }

  static constexpr uint32_t largestShift = 65536;
  static constexpr uint64_t largestWeights = INT32_MAX / 1024;
  const Program &program;
  const DataBlock &data;
  std::set<uint32_t> fed;
};

} // namespace

std::string checkData(const Program &program) { return program.data() ? DataBlockCheck(program, *program.data()).run() : ""; }

} // namespace npar::program
