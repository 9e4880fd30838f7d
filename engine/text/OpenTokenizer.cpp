// Finds the kind of a tokenizer by the names of its folder or file.
#include "engine/text/Bytes.h"
#include "engine/text/FolderFiles.h"
#include "engine/text/ReadFile.h"
#include "engine/text/SentencePiece.h"
#include "engine/text/TokenizerFile.h"
#include "engine/text/TokenizerFiles.h"

#include <filesystem>

namespace npar::engine {
namespace {

namespace fs = std::filesystem;
using Opened = Result<std::shared_ptr<const Tokenizer>>;

std::string folderOf(const std::string &path) {
  std::string folder = fs::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

Opened openTokenizerJson(const std::string &path, TokenizerJson &json) {
  Result<BpeParts> parts = partsOfTokenizerJson(json);
  if (!parts.ok())
    return tokenizerFailure(path, parts.status().message());
  Result<TokenizerConfig> config = readTokenizerConfig(folderOf(path));
  if (!config.ok())
    return config.status();
  parts->endOfText = config->endOfText ? config->endOfText : "<|endoftext|>"; // GPT-2's, if the folder does not define it
  Opened opened = BpeTokenizer::create(std::move(*parts));
  return opened.ok() ? opened : tokenizerFailure(path, opened.status().message());
}

Opened openTokenizerJson(const std::string &path) {
  Result<TokenizerJson> json = readTokenizerJson(path, Vocabulary::InTheModel);
  return json.ok() ? openTokenizerJson(path, *json) : json.status();
}

/// Folders of Llama 2 say the same in two files, of which npar reads the model: it must have every token that the other one adds.
Opened openJsonOrModel(const std::string &jsonPath, const std::string &modelPath) {
  Result<TokenizerJson> json = readTokenizerJson(jsonPath, Vocabulary::InTheModel);
  if (!json.ok())
    return json.status();
  Opened opened = openTokenizerJson(jsonPath, *json);
  Result<std::vector<AddedToken>> added = addedTokensOf(json->rest);
  if (opened.ok() || !added.ok())
    return opened;
  Opened model = openSentencePiece(modelPath, *added);
  return model.ok() ? model : Status::badInput(opened.status().message() + "; " + model.status().message());
}

Opened openVocabularyAndMerges(const std::string &folder) {
  Result<BpeParts> parts = partsOfVocabularyAndMerges(folder);
  if (!parts.ok())
    return parts.status();
  Opened opened = BpeTokenizer::create(std::move(*parts));
  return opened.ok() ? opened : tokenizerFailure((fs::path(folder) / "vocab.json").string(), opened.status().message());
}

Opened openFolder(const std::string &folder) {
  auto there = [&](const char *name) {
    std::error_code unknown;
    return fs::exists(fs::path(folder) / name, unknown);
  };
  auto path = [&](const char *name) { return (fs::path(folder) / name).string(); };
  if (there("tokenizer.json") && there("tokenizer.model"))
    return openJsonOrModel(path("tokenizer.json"), path("tokenizer.model"));
  if (there("tokenizer.json"))
    return openTokenizerJson(path("tokenizer.json"));
  if (there("vocab.json") && there("merges.txt"))
    return openVocabularyAndMerges(folder);
  if (there("tokenizer.model"))
    return openSentencePiece(path("tokenizer.model"));
  return Status::badInput("no tokenizer in '" + folder +
                          "': it has neither tokenizer.json, nor vocab.json with merges.txt, nor tokenizer.model");
}

} // namespace

std::vector<std::string> tokenizerFiles(const std::string &path) {
  if (path == "bytes")
    return {};
  std::error_code unknown;
  bool isFolder = fs::is_directory(path, unknown);
  fs::path folder = isFolder ? path : folderOf(path);
  std::vector<std::string> files;
  for (const char *name : {"tokenizer.json", "vocab.json", "merges.txt", "tokenizer.model", "tokenizer_config.json"})
    if (fs::exists(folder / name, unknown))
      files.push_back((folder / name).string());
  if (!isFolder)
    files.push_back(path);
  return files;
}

Opened openTokenizer(const std::string &path) {
  if (path == "bytes")
    return byteTokenizer();
  std::error_code unknown;
  if (fs::is_directory(path, unknown))
    return openFolder(path);
  fs::path file(path);
  if (file.filename() == "vocab.json" || file.filename() == "merges.txt")
    return openVocabularyAndMerges(folderOf(path));
  if (file.extension() == ".json")
    return openTokenizerJson(path);
  if (file.extension() == ".model")
    return openSentencePiece(path);
  std::string there = fs::exists(path, unknown) ? "" : "there is no such file or folder; ";
  return tokenizerFailure(
      path, there + "give a folder, a tokenizer.json, a vocab.json with its merges.txt, a tokenizer.model, or the word bytes");
}

} // namespace npar::engine
