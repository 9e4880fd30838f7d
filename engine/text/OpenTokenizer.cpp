// Finds the kind of a tokenizer by the names of its folder or file.
#include "engine/files/InsideFolder.h"
#include "engine/text/Bytes.h"
#include "engine/text/ReadFile.h"
#include "engine/text/SentencePiece.h"
#include "engine/text/SpecialTokens.h"
#include "engine/text/Tiktoken.h"
#include "engine/text/TokenizerClass.h"
#include "engine/text/TokenizerFile.h"
#include "engine/text/TokenizerFiles.h"
#include "engine/text/VocabularyFiles.h"

#include <filesystem>

namespace npar::engine {
namespace {

namespace fs = std::filesystem;
using Opened = Result<std::shared_ptr<const Tokenizer>>;

/// The names of SentencePiece's models, of which tiktoken's text shares the first.
constexpr const char *modelNames[] = {"tokenizer.model", "spiece.model", "sentencepiece.bpe.model"};

std::string folderOf(const std::string &path) {
  std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

/// Errors name the file.
Opened created(const std::string &path, Result<PipelineParts> parts) {
  if (!parts.ok())
    return tokenizerFailure(path, parts.status().message());
  Opened opened = Pipeline::create(std::move(*parts));
  return opened.ok() ? opened : tokenizerFailure(path, opened.status().message());
}

Opened openTokenizerJson(const std::string &path, StatedLength length) {
  TRY(TokenizerJson json, readTokenizerJson(path, VocabularyPlace::InTheModel));
  TRY(TokenizerConfig config, readTokenizerConfig(folderOf(path)));
  Result<PipelineParts> parts = partsOfTokenizerJson(json, length);
  if (parts.ok()) {
    TRY_STATUS(addSpecialTokens(config, *parts));
    parts->endOfText = config.text(TokenizerConfig::Role::End, "<|endoftext|>"); // GPT-2's, if the folder does not define it
    parts->padding = config.text(TokenizerConfig::Role::Padding, "");
  }
  return created(path, std::move(parts));
}

Opened openModel(const std::string &path) {
  TRY(std::string bytes, readTokenizerFile(path));
  TRY(TokenizerConfig config, readTokenizerConfig(folderOf(path)));
  TRY_STATUS(findClass(folderOf(path), config));
  Result<PipelineParts> parts = isTiktoken(bytes) ? partsOfTiktoken(bytes, config) : partsOfSentencePiece(bytes, config);
  if (parts.ok())
    parts->padding = config.text(TokenizerConfig::Role::Padding, "");
  return created(path, std::move(parts));
}

/// The readers of these folders name the file that is wrong.
Opened openFiles(const std::string &vocabulary, Result<PipelineParts> parts) {
  return parts.ok() ? created(vocabulary, std::move(parts)) : parts.status();
}

Opened openFolder(const std::string &folder, StatedLength length) {
  auto there = [&](const char *name) {
    std::error_code unknown;
    return fs::exists(files::joined(folder, name), unknown);
  };
  auto path = [&](const char *name) { return files::joined(folder, name); };
  if (there("tokenizer.json"))
    return openTokenizerJson(path("tokenizer.json"), length);
  if (there("vocab.json") && there("merges.txt"))
    return openFiles(path("vocab.json"), partsOfVocabularyAndMerges(folder));
  if (there("vocab.txt"))
    return openFiles(path("vocab.txt"), partsOfWordPieceVocabulary(folder));
  for (const char *name : modelNames)
    if (there(name))
      return openModel(path(name));
  return Status::badInput("no tokenizer in '" + folder +
                          "': it has neither tokenizer.json, nor vocab.json with merges.txt, nor vocab.txt, nor tokenizer.model, "
                          "spiece.model or sentencepiece.bpe.model");
}

} // namespace

const std::vector<std::string> &tokenizerFileNames() {
  static const std::vector<std::string> names = {"tokenizer.json",
                                                 "vocab.json",
                                                 "merges.txt",
                                                 "vocab.txt",
                                                 "tokenizer.model",
                                                 "spiece.model",
                                                 "sentencepiece.bpe.model",
                                                 "tokenizer_config.json",
                                                 "special_tokens_map.json",
                                                 "added_tokens.json"};
  return names;
}

std::vector<std::string> tokenizerFiles(const std::string &path) {
  if (path == "bytes")
    return {};
  std::error_code unknown;
  bool isFolder = fs::is_directory(path, unknown);
  const std::string folder = isFolder ? path : folderOf(path);
  std::vector<std::string> found;
  std::vector<std::string> names = tokenizerFileNames();
  names.emplace_back("config.json");
  for (const std::string &name : names)
    if (std::string file = files::joined(folder, name); fs::exists(file, unknown))
      found.push_back(std::move(file));
  if (!isFolder)
    found.push_back(path);
  return found;
}

/// Names of the files that a tokenizer cannot lack.
static const std::vector<std::string> &modelFileNames() {
  static const std::vector<std::string> names = {"tokenizer.json",  "vocab.json",   "vocab.txt",
                                                 "tokenizer.model", "spiece.model", "sentencepiece.bpe.model"};
  return names;
}

std::string tokenizerFileName(const std::string &path, const std::string &file) {
  std::error_code unknown;
  const std::string name = fs::path(file).filename().string(), given = fs::path(path).filename().string();
  const auto &models = modelFileNames();
  const bool isModel = std::find(models.begin(), models.end(), name) != models.end();
  if (fs::is_directory(path, unknown))
    return name;
  const bool isPair = given == "vocab.json" || given == "merges.txt";
  if (isPair && (name == "vocab.json" || name == "merges.txt"))
    return name;
  if (name != given)
    return isModel || name == "merges.txt" ? "" : name;
  if (isModel)
    return name;
  return fs::path(path).extension() == ".json" ? "tokenizer.json" : fs::path(path).extension() == ".model" ? "tokenizer.model" : name;
}

std::string tokenizerFolder(const std::string &folder) {
  std::error_code unknown;
  for (const std::string &candidate : {folder, files::joined(folder, "model")})
    for (const std::string &name : modelFileNames())
      if (!folder.empty() && fs::exists(files::joined(candidate, name), unknown))
        return candidate;
  return "";
}

Opened openTokenizer(const std::string &path, StatedLength length) {
  if (path == "bytes")
    return byteTokenizer();
  std::error_code unknown;
  if (fs::is_directory(path, unknown))
    return openFolder(path, length);
  fs::path file(path);
  if (file.filename() == "vocab.json" || file.filename() == "merges.txt")
    return openFiles(files::joined(folderOf(path), "vocab.json"), partsOfVocabularyAndMerges(folderOf(path)));
  if (file.filename() == "vocab.txt")
    return openFiles(path, partsOfWordPieceVocabulary(folderOf(path)));
  if (file.extension() == ".json")
    return openTokenizerJson(path, length);
  if (file.extension() == ".model")
    return openModel(path);
  std::string there = fs::exists(path, unknown) ? "" : "there is no such file or folder; ";
  return tokenizerFailure(path, there +
                                    "give a folder, a tokenizer.json, a vocab.json with its merges.txt, a vocab.txt, a tokenizer.model, or "
                                    "the word bytes");
}

} // namespace npar::engine
