// `npar tokens`: converts a text to a file of token numbers with the tokenizer of a model's folder, and back.
#include "tools/npar/Command.h"

#include "engine/data/TokenFile.h"
#include "engine/data/TokenFileWriter.h"
#include "engine/files/OutputFile.h"
#include "engine/json/Json.h"
#include "engine/text/Tokenizer.h"
#include "engine/text/TokenizerFiles.h"
#include "tools/lib/models/FileClaims.h"
#include "tools/npar/model/FlagChecks.h"
#include "tools/npar/terminal/Outcome.h"
#include "tools/npar/terminal/PrintJson.h"
#include "tools/npar/terminal/PrintableStreams.h"
#include "tools/npar/terminal/Talk.h"
#include "tools/npar/terminal/Waiting.h"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <iostream>
#include <sys/stat.h>
#include <unistd.h>

namespace npar::driver {
namespace {

using engine::Result;
using engine::Status;
using engine::Tokenizer;

struct TokensFlags {
  std::string tokenizer, text, out, decode;
  std::optional<int64_t> show;
  bool plain = false, skipSpecial = false, json = false;
};

/// Totals of a conversion.
struct Count {
  uint64_t bytes = 0, tokens = 0;
  int32_t largest = -1;
  std::vector<int32_t> first; ///< the first N ids, for --count N
};

constexpr size_t blockBytes = 1 << 20, blockTokens = 1 << 18;

/// A piece of text for one line of a terminal: quotes, line breaks and invalid UTF-8 are escaped.
std::string shownText(const std::string &bytes) { return Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace); }

Result<std::string> shownPiece(const Tokenizer &tokenizer, int32_t id) { return tokenizer.bytesOf(id, /*first=*/false); }

ExitCode report(const TokensFlags &flags, const Tokenizer &tokenizer, const Count &count) {
  Json pieces = Json::array();
  if (flags.show && !flags.json)
    fmt::print("{:>10} {:>8}  text\n", "position", "token");
  for (size_t i = 0; i < count.first.size(); ++i) {
    Result<std::string> piece = shownPiece(tokenizer, count.first[i]);
    if (!piece.ok())
      return fail(piece.status());
    if (flags.json)
      pieces.push_back({{"token", count.first[i]}, {"text", *piece}});
    else
      fmt::print("{:>10} {:>8}  {}\n", i, count.first[i], shownText(*piece));
  }
  if (!flags.json) {
    double each = count.tokens ? static_cast<double>(count.bytes) / static_cast<double>(count.tokens) : 0;
    printRemark(fmt::format("{}{} tokens of {} ({}), {} bytes of text, {:.2f} bytes per token",
                            flags.out.empty() ? "" : "wrote '" + flags.out + "': ", count.tokens, tokenizer.vocabularySize(),
                            tokenizer.kind(), count.bytes, each));
    return ExitCode::Good;
  }
  OrderedJson summary = {{"tokenizer", tokenizer.kind()},
                         {"vocabulary", tokenizer.vocabularySize()},
                         {"bytes", count.bytes},
                         {"tokens", count.tokens},
                         {"largest", count.largest}};
  if (flags.show)
    summary["first"] = pieces;
  printJson(std::move(summary), json::Form::OneLine);
  return ExitCode::Good;
}

/// Reads text in blocks from a file, or from standard input for `-`.
class TextSource {
public:
  explicit TextSource(const std::string &path)
      : path(path), file(path == "-" ? STDIN_FILENO : ::open(path.c_str(), O_RDONLY | O_CLOEXEC)), error(file < 0 ? errno : 0) {
    struct stat info;
    bool device = !error && ::fstat(file, &info) == 0 && (S_ISCHR(info.st_mode) || S_ISBLK(info.st_mode));
    endless = device && path != "-" && !::isatty(file) && path != "/dev/null";
  }
  TextSource(const TextSource &) = delete;
  ~TextSource() {
    if (file > STDIN_FILENO)
      ::close(file);
  }
  /// The next block; empty at the end.
  Result<std::string_view> next() {
    if (endless)
      return Status::badInput("cannot read text '" + path + "': it is a device");
    ssize_t got = 0;
    if (!error)
      do
        got = ::read(file, block.data(), block.size());
      while (got < 0 && errno == EINTR);
    if (error || got < 0)
      return Status::badInput("cannot read text '" + path + "': " + std::strerror(error ? error : errno));
    return std::string_view(block.data(), static_cast<size_t>(got));
  }

private:
  std::string path;
  int file, error;
  bool endless = false;
  std::string block = std::string(blockBytes, '\0');
};

/// Encodes a text to its end. Ids go to `writer` unless it is null.
Result<Count> encodeAll(const TokensFlags &flags, const Tokenizer &tokenizer, engine::TokenFileWriter *writer) {
  Waiting waiting("reading '" + flags.text + "'");
  TextSource source(flags.text);
  std::unique_ptr<engine::TextEncoder> encoder = tokenizer.encoder(!flags.plain);
  Count count;
  std::vector<int32_t> ids;
  for (bool ended = false; !ended;) {
    Result<std::string_view> part = source.next();
    if (!part.ok())
      return part.status();
    ended = part->empty();
    Status status = ended ? encoder->finish(ids) : encoder->push(*part, ids);
    if (!status.ok())
      return Status(status.code(), "cannot turn '" + flags.text + "' into tokens: " + status.message());
    for (int32_t id : ids) {
      count.largest = std::max(count.largest, id);
      if (count.first.size() < static_cast<size_t>(flags.show.value_or(0)))
        count.first.push_back(id);
    }
    if (writer)
      if (Status written = writer->write(ids); !written.ok())
        return written;
    count.bytes += part->size(), count.tokens += ids.size();
    ids.clear();
    waiting.phase(fmt::format("{} MB", count.bytes / 10'000'000 * 10));
  }
  return count;
}

ExitCode runEncode(const TokensFlags &flags, const Tokenizer &tokenizer) {
  std::optional<engine::TokenFileWriter> writer;
  if (!flags.out.empty()) {
    Result<engine::TokenFileWriter> created = engine::TokenFileWriter::create(flags.out);
    if (!created.ok())
      return fail(created.status());
    writer.emplace(std::move(*created));
  }
  Result<Count> count = encodeAll(flags, tokenizer, writer ? &*writer : nullptr);
  if (!count.ok())
    return fail(count.status());
  if (writer)
    if (Status status = writer->commit(); !status.ok())
      return fail(status);
  return report(flags, tokenizer, *count);
}

/// Decodes ids to text, which goes to `write`.
Result<Count> decodeAll(const TokensFlags &flags, const Tokenizer &tokenizer, const engine::TokenFile &tokens,
                        const std::function<Status(const std::string &)> &write) {
  Waiting waiting("reading '" + flags.decode + "'");
  engine::TextDecoder decoder(tokenizer, flags.skipSpecial);
  Count count;
  std::string text;
  auto decode = [&](int64_t i, int32_t id) {
    Result<std::string> part = decoder.push(id);
    if (!part.ok())
      return Status::badInput(fmt::format("cannot turn '{}' into text: token {} (from 0): {}", flags.decode, i, part.status().message()));
    text += *part;
    count.largest = std::max(count.largest, id);
    if (i < flags.show.value_or(0))
      count.first.push_back(id);
    bool last = i + 1 == tokens.size();
    if (text.size() < blockBytes && !last)
      return Status();
    text += last ? decoder.finish() : "";
    if (Status status = write(text); !status.ok())
      return status;
    count.bytes += text.size();
    text.clear();
    waiting.phase(fmt::format("{} of {} million tokens", i / 1'000'000, tokens.size() / 1'000'000));
    return Status();
  };
  Status done = engine::forTokenBlocks(tokens, 0, tokens.size(), [&](int64_t first, const std::vector<int32_t> &ids) {
    Status status;
    for (size_t i = 0; i < ids.size() && status.ok(); ++i)
      status = decode(first + static_cast<int64_t>(i), ids[i]);
    return status;
  });
  if (!done.ok())
    return done;
  count.tokens = static_cast<uint64_t>(tokens.size());
  return count;
}

ExitCode runDecode(const TokensFlags &flags, const Tokenizer &tokenizer) {
  Result<engine::TokenFormat> format = engine::TokenFileWriter::formatOf(flags.decode, "--decode");
  if (!format.ok())
    return fail(ExitCode::Usage, format.status().message());
  auto tokens = engine::TokenFile::open(flags.decode, *format);
  if (!tokens.ok())
    return fail(tokens.status());
  bool toScreen = flags.out.empty() || flags.out == "-";
  std::optional<files::OutputFile> file;
  if (!toScreen) {
    Result<files::OutputFile> created = files::OutputFile::create(flags.out);
    if (!created.ok())
      return fail(created.status());
    file.emplace(std::move(*created));
  }
  uint64_t written = 0;
  Result<Count> count = decodeAll(flags, tokenizer, **tokens, [&](const std::string &text) {
    written += text.size();
    if (file)
      return file->write(written - text.size(), text.data(), text.size());
    productOutput() << text;
    return Status();
  });
  if (!count.ok())
    return fail(count.status());
  if (file)
    if (Status status = file->commit(); !status.ok())
      return fail(status);
  return toScreen ? ExitCode::Good : report(flags, tokenizer, *count);
}

ExitCode checkFlags(const TokensFlags &flags) {
  auto usage = [](const std::string &message) { return fail(ExitCode::Usage, message); };
  if (flags.text.empty() == flags.decode.empty())
    return usage(flags.text.empty()
                     ? "give --text FILE (or - for standard input) to write tokens, or --decode FILE.u16|FILE.i32 to write text"
                     : "--text and --decode cannot be used together");
  if (!flags.text.empty() && flags.skipSpecial)
    return usage("--skip-special needs --decode");
  if (!flags.decode.empty() && flags.plain)
    return usage("--plain needs --text");
  if (!flags.text.empty() && flags.out.empty() && !flags.show && !flags.json)
    return usage("no output: give --output FILE.u16 or FILE.i32, or --count N, or --json for the numbers of bytes and tokens");
  bool toScreen = flags.out.empty() || flags.out == "-";
  if (!flags.decode.empty() && toScreen && (flags.json || flags.show))
    return usage("the text already goes to standard output: with --json or --count give --output FILE");
  if (!flags.text.empty() && !flags.out.empty())
    if (auto format = engine::TokenFileWriter::formatOf(flags.out, "--output"); !format.ok())
      return usage(format.status().message());
  models::FileClaims files;
  files.write("--output", flags.out == "-" ? "" : flags.out);
  files.read(flags.text == "-" ? "standard input" : "--text", flags.text == "-" ? "/proc/self/fd/0" : flags.text);
  files.read("--decode", flags.decode);
  for (const std::string &file : engine::tokenizerFiles(flags.tokenizer))
    files.read("the tokenizer", file);
  return reported(files.check());
}

ExitCode runTokens(const TokensFlags &flags) {
  if (ExitCode code = checkFlags(flags); code != ExitCode::Good)
    return code;
  auto tokenizer = engine::openTokenizer(flags.tokenizer);
  if (!tokenizer.ok())
    return fail(tokenizer.status());
  return flags.decode.empty() ? runEncode(flags, **tokenizer) : runDecode(flags, **tokenizer);
}

} // namespace

Command addTokensCommand(CLI::App &driver) {
  auto flags = std::make_shared<TokensFlags>();
  CLI::App *app = driver.add_subcommand("tokens", "convert a text to a file of token numbers, and back\n\n"
                                                  "Example:\n"
                                                  "  npar tokens gpt2-folder --text book.txt --output book.u16\n"
                                                  "  npar train gpt2 --data book.u16 --tokens u16 --set width=64 --set heads=4 --set "
                                                  "depth=4 --set length=64 --set batch=8 --steps 10\n");
  app->add_option("TOKENIZER", flags->tokenizer,
                  "folder with tokenizer.json, with vocab.json and merges.txt, with vocab.txt, or with tokenizer.model; one of these "
                  "files; or the word "
                  "bytes")
      ->type_name("FOLDER|FILE")
      ->required();
  app->add_option("--text", flags->text, "UTF-8 text to read; - reads standard input")->type_name("FILE|-")->check(notEmpty());
  app->add_option("-o,--output", flags->out, "file for the tokens, of 16 bits (.u16) or 32 bits (.i32); with --decode, for the text")
      ->type_name("FILE.u16|FILE.i32")
      ->check(notEmpty());
  app->add_option("--decode", flags->decode, "file of tokens to decode to text")->type_name("FILE.u16|FILE.i32")->check(notEmpty());
  app->add_option("--count", flags->show, "print the first N tokens with their text")->type_name("N")->check(wholeNumber(1, 1'000'000));
  app->add_flag("--plain", flags->plain, "omit the tokens that the tokenizer adds to every text, such as Llama's begin of text");
  app->add_flag("--skip-special", flags->skipSpecial, "with --decode: omit special tokens");
  app->add_flag("--json", flags->json, "print bytes, tokens, the largest token and the vocabulary size as one JSON object");
  return {app, [flags] { return runTokens(*flags); }};
}

} // namespace npar::driver
