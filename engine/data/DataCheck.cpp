// Whether a token file fits a program: every value, as a token and as a target, before anything is trained.
#include "engine/data/DataCheck.h"

namespace npar::engine {

namespace {

class DataCheck {
public:
  DataCheck(const TokenData &data, const BatchShape &shape)
      : data(data), shape(shape), stream(shape.find(program::InputRole::Stream)), shifted(shape.find(program::InputRole::Shifted)),
        length(shape.tokensOfSample()), size(data.tokens->size()) {
    if (const InputShape *ignoring = shape.ignoring())
      ignore = ignoring->ignore;
  }

  Status checkValues() const {
    for (int64_t i = 0, last = looksAtValues() ? size : 0; i < last; ++i)
      if (Status status = checkValue(i); !status.ok())
        return status;
    return {};
  }

  Result<std::vector<std::string>> run() const {
    if (Status status = checkValues(); !status.ok())
      return status;
    if (size < length + 1)
      return Status::badInput(name() + " has " + number(size) + " tokens; one sample of sequence length " + number(length) + " needs " +
                              number(length + 1));
    int64_t samples = (size - 1) / length;
    if (samples < shape.rows)
      return Status::badInput(name() + " has " + number(samples) + (samples == 1 ? " sample" : " samples") + " of " + number(length) +
                              " tokens, but a batch takes " + number(shape.rows) +
                              " and would repeat them; make the batch smaller or the samples shorter, or give a longer file");
    return checkTargets(samples * length);
  }

private:
  static std::string number(int64_t value) { return std::to_string(value); }
  std::string name() const { return "data '" + data.path + "'"; }

  /// "sample 3 of 'x.bin' has target 104 at position 17"; sample and position as the program sees them.
  std::string found(const char *what, int64_t index, int32_t value) const {
    return "sample " + number(index / length) + " of '" + data.path + "' has " + what + " " + number(value) + " at position " +
           number(index % length);
  }

  /// Values need not be looked at where the file's format has none that is wrong.
  bool looksAtValues() const {
    auto takesAll = [&](const InputShape *input) {
      return !input || (input->has(data.tokens->least()) && input->has(data.tokens->largest()));
    };
    return !takesAll(stream) || !takesAll(shifted) || data.mask || isPossible(ignore);
  }
  bool isPossible(std::optional<int32_t> value) const {
    return value && *value >= data.tokens->least() && *value <= data.tokens->largest();
  }

  Status checkValue(int64_t i) const {
    int32_t value = data.tokens->at(i);
    if (stream && !stream->takes(value))
      return misfit("token", i, value, *stream);
    if (!shifted || !data.isTarget(i))
      return {};
    if (ignore && value == *ignore) {
      if (data.mask && shifted->has(value))
        return Status::badInput(found("target", i - 1, value) + ", which counts by the mask '" + data.maskPath +
                                "', but the model ignores " + number(value) + ": ignore a number that is no class, as with ignore = -100");
      return {};
    }
    return shifted->has(value) ? Status() : misfit("target", i - 1, value, *shifted);
  }

  Status misfit(const char *what, int64_t index, int32_t value, const InputShape &input) const {
    std::string text = found(what, index, value) + ", but " + input.rangeText();
    if (data.tokens->format() == TokenFormat::Bytes)
      text += "; for any text of bytes it needs 256";
    return Status::badInput(text);
  }

  /// Checks the tokens that some sample has as targets, which are those from 1 to `last`.
  Result<std::vector<std::string>> checkTargets(int64_t last) const {
    if (!data.mask && !isPossible(ignore))
      return std::vector<std::string>();
    int64_t counting = 0, ignored = 0;
    for (int64_t i = 1; i <= last; ++i)
      if (data.isTarget(i))
        ++(ignore && data.tokens->at(i) == *ignore ? ignored : counting);
    if (counting == 0)
      return Status::badInput(
          data.mask
              ? "mask '" + data.maskPath + "' makes no token of '" + data.path + "' a target: there is nothing to train on"
              : "every target of '" + data.path + "' is " + number(*ignore) + ", which the model ignores: there is nothing to train on");
    std::vector<std::string> remarks;
    if (ignored > 0)
      remarks.push_back("the model ignores targets of value " + number(*ignore) + ": " + number(ignored) + " of " +
                        number(ignored + counting) + " in '" + data.path + "'");
    return remarks;
  }

  const TokenData &data;
  const BatchShape &shape;
  const InputShape *stream, *shifted; ///< null where there is none
  int64_t length, size;               ///< of a sample, of the file
  std::optional<int32_t> ignore;
};

} // namespace

Status checkTokenValues(const TokenData &data, const BatchShape &shape) { return DataCheck(data, shape).checkValues(); }

Result<std::vector<std::string>> checkData(const TokenData &data, const BatchShape &shape) { return DataCheck(data, shape).run(); }

} // namespace npar::engine
