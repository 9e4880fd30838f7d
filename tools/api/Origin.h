// The texts of a compiled model, which its checkpoints keep, as JSON between the compiler library and libnpar.
#pragma once

#include "engine/json/Json.h"
#include "engine/training/RunCheckpoints.h"

namespace npar::api {

/// {texts: [[name, text]], call: {text, plan, train, config, settings, others}, constants}; bytes that are no UTF-8 travel as they are.
inline std::string packOrigin(const training::KeptModel &model) {
  const engine::ModelCall &call = model.call;
  std::vector<uint8_t> bytes = Json::to_cbor({{"texts", model.texts},
                                              {"text", call.text},
                                              {"plan", call.plan},
                                              {"train", call.train},
                                              {"config", call.config},
                                              {"settings", call.settings},
                                              {"others", call.others},
                                              {"constants", model.constants}});
  return {bytes.begin(), bytes.end()};
}

inline training::KeptModel unpackOrigin(const std::string &bytes) {
  Json json = Json::from_cbor(bytes);
  training::KeptModel model;
  json.at("texts").get_to(model.texts);
  json.at("text").get_to(model.call.text);
  json.at("plan").get_to(model.call.plan);
  json.at("train").get_to(model.call.train);
  json.at("config").get_to(model.call.config);
  json.at("settings").get_to(model.call.settings);
  json.at("others").get_to(model.call.others);
  json.at("constants").get_to(model.constants);
  return model;
}

} // namespace npar::api
