#include "minifier/oracle/observed_json.h"

#include <nlohmann/json.hpp>

namespace assay {
namespace {

using Json = nlohmann::json;

auto signature_json(const Signature& s) -> Json {
  return {{"stage", s.stage},     {"error_class", s.error_class},
          {"message", s.message}, {"frames", s.frames},
          {"op", s.op},           {"node", s.node},
          {"numeric", s.numeric}};
}
auto signature_from(const Json& json) -> Signature {
  const auto text = [&](const char* key) { return json.value(key, std::string()); };
  return {text("stage"), text("error_class"), text("message"), text("frames"),
          text("op"),    text("node"),        text("numeric")};
}

}  // namespace

auto to_json(const Observed& observed) -> std::string {
  Json json{{"outcome", name(observed.outcome)},
            {"signature", signature_json(observed.signature)},
            {"output", observed.output},
            {"seconds", observed.seconds},
            {"first_output", observed.first_output}};
  for (const auto& other : observed.others) json["others"].push_back(signature_json(other));
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

auto observed_from_json(std::string_view text) -> Result<Observed> {
  const auto json = Json::parse(text, nullptr, false);
  const auto outcome =
      json.is_object() ? outcome_from(json.value("outcome", std::string())) : std::nullopt;
  if (!outcome) return bad_input("not an oracle's answer: {}", text.substr(0, 80));
  Observed observed{.outcome = *outcome,
                    .signature = signature_from(json.value("signature", Json::object())),
                    .output = json.value("output", std::string()),
                    .seconds = json.value("seconds", 0.0),
                    .first_output = json.value("first_output", -1)};
  for (const auto& other : json.value("others", Json::array()))
    observed.others.push_back(signature_from(other));
  return observed;
}

}  // namespace assay
