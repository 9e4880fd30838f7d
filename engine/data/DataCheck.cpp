// Whether a token file fits a program: every value, as a token and as a target, before anything is trained.
#include "engine/data/DataCheck.h"

#include <algorithm>

namespace npar::engine {

namespace {

class DataCheck {
public:
  DataCheck(const TokenData &data, const BatchShape &shape)
      : data(data), shape(shape), length(shape.tokensOfSample()), size(data.tokens->size()) {
    for (const DataFeed &feed : data.feeds)
      if (!feed.valid)
        feeds.push_back({&shape.inputs[feed.input], feed.shift});
    if (const InputShape *ignoring = shape.ignoring())
      ignore = ignoring->ignore;
  }

  Status checkValues() const {
    for (int64_t i = 0, last = looksAtValues() ? size : 0; i < last; ++i)
      if (Status status = checkValue(i); !status.ok())
        return status;
    return {};
  }

  /// Checks the tokens that some sample has as targets, which are those from 1 on.
  Result<std::vector<std::string>> checkTargets(int64_t last) const {
    if (!data.mask && !isPossible(ignore))
      return std::vector<std::string>();
    int64_t counting = 0, ignored = 0;
    for (int64_t i = 1; i < last; ++i)
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

private:
  struct Feed {
    const InputShape *input;
    int64_t shift;
  };

  static std::string number(int64_t value) { return std::to_string(value); }

  /// "sample 3 of 'x.bin' has target 104 at position 17"; sample and position as the program sees them.
  std::string found(const char *what, int64_t index, int32_t value) const {
    return "sample " + number(index / length) + " of '" + data.path + "' has " + what + " " + number(value) + " at position " +
           number(index % length);
  }

  /// Values need not be looked at where the file's format has none that is wrong.
  bool looksAtValues() const {
    bool takesAll = std::all_of(feeds.begin(), feeds.end(), [&](const Feed &feed) {
      return feed.input->has(data.tokens->least()) && feed.input->has(data.tokens->largest());
    });
    return !takesAll || data.mask || isPossible(ignore);
  }
  bool isPossible(std::optional<int32_t> value) const {
    return value && *value >= data.tokens->least() && *value <= data.tokens->largest();
  }

  Status checkValue(int64_t i) const {
    int32_t value = data.tokens->at(i);
    for (const Feed &feed : feeds)
      if (Status status = feed.shift == 0 ? checkToken(*feed.input, i, value) : checkTarget(feed, i, value); !status.ok())
        return status;
    return {};
  }

  Status checkToken(const InputShape &input, int64_t i, int32_t value) const {
    return input.takes(value) ? Status() : misfit("token", i, value, input);
  }

  Status checkTarget(const Feed &feed, int64_t i, int32_t value) const {
    if (i < feed.shift || !data.isTarget(i))
      return {};
    const InputShape &input = *feed.input;
    if (input.ignore && value == *input.ignore) {
      if (data.mask && input.has(value))
        return Status::badInput(found("target", i - feed.shift, value) + ", which counts by the mask '" + data.maskPath +
                                "', but the model ignores " + number(value) + ": ignore a number that is no class, as with ignore = -100");
      return {};
    }
    return input.has(value) ? Status() : misfit("target", i - feed.shift, value, input);
  }

  Status misfit(const char *what, int64_t index, int32_t value, const InputShape &input) const {
    std::string text = found(what, index, value) + ", but " + input.rangeText();
    if (data.tokens->format() == TokenFormat::Bytes)
      text += "; for any text of bytes it needs 256";
    return Status::badInput(text);
  }

  const TokenData &data;
  const BatchShape &shape;
  std::vector<Feed> feeds;
  int64_t length, size; ///< of a sample, of the file
  std::optional<int32_t> ignore;
};

} // namespace

Status checkTokenValues(const TokenData &data, const BatchShape &shape) { return DataCheck(data, shape).checkValues(); }

Result<std::vector<std::string>> checkTargets(const TokenData &data, const BatchShape &shape, int64_t tokens) {
  return DataCheck(data, shape).checkTargets(tokens);
}

} // namespace npar::engine
