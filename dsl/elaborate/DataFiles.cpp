// Reads paths, formats and weights of the files of a data block.
#include "dsl/elaborate/DataFiles.h"

#include "dsl/elaborate/TextFeeds.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

namespace npar::dsl {

std::string pathOfFile(const ast::Name &path, const Sources &sources) {
  return (std::filesystem::path(sources.name(path.location.file)).parent_path() / path.text).lexically_normal().string();
}

DataFile dataFile(const ast::DataFile &from, const std::string &kind, const Sources &sources, Reporter &reporter) {
  DataFile result;
  if (from.path.text.empty())
    reporter.fail(Code::T7, from.path.location, "a file needs a name");
  result.path = pathOfFile(from.path, sources);
  if (kind == "text") {
    result.format = textFormat(from, reporter);
    if (from.lengths)
      reporter.fail(Code::T7, from.lengths->location, "'lengths' is for a stream of tokens; a row of a file of texts is a sample");
    return result;
  }
  if (kind != "stream") {
    result.format = kind == "idx" ? DataFormat::Idx : kind == "images" ? DataFormat::Images : DataFormat::Tensors;
    for (const auto &[given, word] : {std::pair(&from.format, "as"), std::pair(&from.lengths, "lengths")})
      if (*given)
        reporter.fail(Code::T7, (*given)->location,
                      std::string("'") + word + "' is for a stream of tokens; " +
                          (kind == "file" ? "a file of tensors states its own types" : "pictures and IDX files state their own types"));
    return result;
  }
  std::string ending = std::filesystem::path(from.path.text).extension().string();
  std::string word = from.format ? from.format->text : ending == ".txt" ? "bytes" : ending.empty() ? "" : ending.substr(1);
  if (word == "bytes")
    result.format = DataFormat::Bytes;
  else if (word == "u16")
    result.format = DataFormat::U16;
  else if (word == "i32")
    result.format = DataFormat::I32;
  else if (from.format)
    reporter.fail(Code::T7, from.format->location, "unknown kind of tokens '" + word + "'", {"it is one of bytes, u16 or i32"});
  else
    reporter.fail(Code::T7, from.path.location, "the format of '" + from.path.text + "' is missing",
                  {"write `as bytes`, `as u16` or `as i32` after it; a file of tensors is read by `file`"});
  if (from.lengths)
    result.lengths = pathOfFile(*from.lengths, sources);
  return result;
}

void weighFiles(const ast::DataSource &from, Evaluator &evaluator, Scope &scope, DataGroup &group) {
  Reporter &reporter = evaluator.reporter;
  constexpr double parts = 10000, most = 1e6;
  int64_t divisor = 0;
  for (size_t i = 0; i < from.files.size(); ++i) {
    const ast::ExpressionPtr &weight = from.files[i].weight;
    if (!weight != !from.files[0].weight)
      reporter.fail(Code::T7, weight ? weight->location : from.files[i].path.location, "only some of these files have a weight",
                    {"give all of them one, or none: then each sample comes once in an epoch"});
    if (!weight)
      continue;
    double value = evaluator.number(*weight, scope, "the weight");
    double scaled = value * parts;
    if (!(value > 0) || value > most || std::abs(scaled - std::round(scaled)) > 1e-6 * scaled)
      reporter.fail(Code::T7, weight->location,
                    "the weight is " + textOf(value) +
                        ", it must be above 0, up to a million, with four digits after the "
                        "point at most");
    group.files[i].weight = std::llround(scaled);
    divisor = std::gcd(divisor, group.files[i].weight);
  }
  int64_t sum = 0;
  for (DataFile &file : group.files)
    sum += file.weight /= std::max<int64_t>(1, divisor);
  if (sum > INT32_MAX / 1024)
    reporter.fail(Code::T7, from.files[0].weight->location,
                  "the weights are " + std::to_string(sum) + " together, in the smallest whole numbers", {"round them, as in 0.7 and 0.3"});
}

} // namespace npar::dsl
