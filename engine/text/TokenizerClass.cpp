// The classes of transformers/models/auto/tokenization_auto.py, as far as npar reads their files.
#include "engine/text/TokenizerClass.h"

#include "engine/files/InsideFolder.h"
#include "engine/text/Fields.h"
#include "engine/text/JsonFile.h"
#include "engine/text/Quoted.h"
#include "engine/text/ReadFile.h"

#include <filesystem>
#include <map>

namespace npar::engine {

Status findClass(const std::string &folder, TokenizerConfig &config) {
  namespace fs = std::filesystem;
  std::error_code unknown;
  std::string path = files::joined(folder, "config.json");
  if (!config.type.empty() || !fs::exists(path, unknown))
    return {};
  TRY(TokenizerJson json, readTokenizerJson(path, VocabularyPlace::Nowhere));
  Fields fields(json.rest, "it");
  const std::string type = fields.text("model_type");
  config.type = slowClass(fields.text("tokenizer_class"));
  if (Status status = fields.mistake(); !status.ok())
    return tokenizerFailure(path, status.message());
  static const std::map<std::string, const char *> classes = {{"albert", "AlbertTokenizer"},
                                                              {"bart", "BartTokenizer"},
                                                              {"bert", "BertTokenizer"},
                                                              {"distilbert", "DistilBertTokenizer"},
                                                              {"electra", "ElectraTokenizer"},
                                                              {"gemma", "GemmaTokenizer"},
                                                              {"gemma2", "GemmaTokenizer"},
                                                              {"gemma3_text", "GemmaTokenizer"},
                                                              {"gpt2", "GPT2Tokenizer"},
                                                              {"gpt_neo", "GPT2Tokenizer"},
                                                              {"gptj", "GPT2Tokenizer"},
                                                              {"llama", "LlamaTokenizer"},
                                                              {"longformer", "LongformerTokenizer"},
                                                              {"mistral", "LlamaTokenizer"},
                                                              {"mobilebert", "MobileBertTokenizer"},
                                                              {"mt5", "MT5Tokenizer"},
                                                              {"opt", "GPT2Tokenizer"},
                                                              {"phi3", "LlamaTokenizer"},
                                                              {"qwen2", "Qwen2Tokenizer"},
                                                              {"qwen3", "Qwen2Tokenizer"},
                                                              {"roberta", "RobertaTokenizer"},
                                                              {"t5", "T5Tokenizer"},
                                                              {"xlm-roberta", "XLMRobertaTokenizer"}};
  if (!config.type.empty() || type.empty())
    return {};
  auto known = classes.find(type);
  if (known == classes.end())
    return tokenizerFailure(path, "no file names the tokenizer_class, and npar does not know that of the model_type " + inQuotes(type) +
                                      ": name it in tokenizer_config.json, or save a tokenizer.json");
  config.type = known->second;
  return {};
}

} // namespace npar::engine
