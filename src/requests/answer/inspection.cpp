#include "requests/answer/inspection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "gpt2/model.h"
#include "inspect/page_template.h"

namespace gpt2 {
namespace {

Json numbers_json(std::span<const float> numbers) {
  Json list = Json::array();
  for (const float number : numbers) list.push_back(short_number(number));
  return list;
}

Json score_json(const std::optional<float>& score) {
  return score ? Json(short_number(*score)) : Json();
}

Json loss_json(const Inspection& found) {
  const double loss = loss_of(found);
  return std::isnan(loss) ? Json() : Json(short_number(static_cast<float>(loss)));
}

// Makes a list of what `make` returns for each item.
template <class Item, class Make>
Json json_list(const std::vector<Item>& items, const Make& make) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back(make(item));
  return list;
}

Json norm_json(const NormInspection& norm) {
  Json answer = {{"mean", short_number(norm.mean)},
                 {"variance", short_number(norm.variance)},
                 {"rstd", short_number(norm.rstd)}};
  if (norm.is_changed()) {
    answer["used_mean"] = short_number(norm.used_mean);
    answer["used_rstd"] = short_number(norm.used_rstd);
  }
  answer["input_norm"] = short_number(norm.input_norm);
  answer["output_norm"] = short_number(norm.output_norm);
  answer["outliers"] = json_list(norm.outliers, [](const OutlierDimension& outlier) {
    return Json{{"dimension", outlier.dimension},
                {"value", short_number(outlier.value)},
                {"normalized", short_number(outlier.normalized)}};
  });
  return answer;
}

Json update_json(const UpdateInspection& update) {
  return {{"added_norm", short_number(update.added_norm)},
          {"growth", short_number(update.growth)},
          {"cosine", short_number(update.cosine)}};
}

Json mlp_json(const MlpInspection& mlp) {
  return {{"active_share", short_number(mlp.active_share)},
          {"largest", json_list(mlp.largest, [](const ActiveNeuron& neuron) {
             return Json{{"neuron", neuron.neuron}, {"value", short_number(neuron.value)}};
           })}};
}

Json head_json(const HeadInspection& head, std::size_t layer, std::size_t index) {
  return {{"layer", layer},
          {"head", index},
          {"previous_token", score_json(head.previous_token)},
          {"first_token", score_json(head.first_token)},
          {"duplicate_token", score_json(head.duplicate_token)},
          {"induction", score_json(head.induction)},
          {"entropy", numbers_json(head.entropy)},
          {"distance", numbers_json(head.distance)}};
}

// Writes the parts of a report.
class ReportWriter {
 public:
  ReportWriter(const InspectionRequest& request, const InspectionResult& result,
               const InspectedModel& of)
      : request_(request), result_(result), of_(of), found_(result.found) {}

  [[nodiscard]] Json config() const {
    const Config& config = of_.model.config();
    return {{"n_layer", config.n_layer},
            {"n_head", config.n_head},
            {"n_embd", config.n_embd},
            {"n_inner", config.inner_dim()},
            {"layer_norm_epsilon", short_number(config.layer_norm_epsilon)}};
  }

  [[nodiscard]] Json norms() const {
    Json list = Json::array();
    for (std::size_t i = 0; i < found_.norms.size(); ++i) {
      list.push_back({{"name", norm_name(i, of_.model.config().n_layer)},
                      {"tokens", json_list(found_.norms[i], norm_json)}});
    }
    return list;
  }

  [[nodiscard]] Json updates() const {
    Json list = Json::array();
    for (std::size_t i = 0; i < found_.updates.size(); ++i) {
      list.push_back({{"name", concat("h.", i / 2, i % 2 == 0 ? ".attn" : ".mlp")},
                      {"tokens", json_list(found_.updates[i], update_json)}});
    }
    return list;
  }

  [[nodiscard]] Json heads() const {
    Json list = Json::array();
    for (std::size_t layer = 0; layer < found_.heads.size(); ++layer) {
      for (std::size_t head = 0; head < found_.heads[layer].size(); ++head) {
        list.push_back(head_json(found_.heads[layer][head], layer, head));
      }
    }
    return list;
  }

  [[nodiscard]] Json mlps() const {
    return json_list(found_.mlps, [](const auto& mlp) { return json_list(mlp, mlp_json); });
  }

  [[nodiscard]] Json lens() const {
    return json_list(found_.lens, [this](const auto& layer) {
      return json_list(layer, [this](const LensInspection& lens) {
        return Json{{"rank", lens.rank}, {"kl", short_number(lens.kl)}, {"top", top(lens.top)}};
      });
    });
  }

  [[nodiscard]] Json contributions() const {
    return json_list(found_.contributions, [this](const LogitContributions& of) {
      Json parts = {{"id", of.target}};
      if (of_.tokenizer) parts["text"] = of_.tokenizer->bytes(of.target);
      parts.update({{"logit", short_number(of.logit)},
                    {"wte", short_number(of.wte)},
                    {"wpe", short_number(of.wpe)},
                    {"attn", numbers_json(of.attn)},
                    {"mlp", numbers_json(of.mlp)},
                    {"ln_f_bias", short_number(of.ln_f_bias)},
                    {"changes", short_number(of.changes)},
                    {"heads", Json::array()},
                    {"attn_bias", numbers_json(of.attn_bias)}});
      const std::size_t n_head = of_.model.config().n_head;
      for (std::size_t layer = 0; layer < of.attn.size(); ++layer) {
        parts["heads"].push_back(numbers_json(std::span(of.heads).subspan(layer * n_head, n_head)));
      }
      return parts;
    });
  }

  // The likeliest tokens after the text.
  [[nodiscard]] Json next(const Inspection& found) const {
    return top(found.lens.back().back().top);
  }

  [[nodiscard]] Json changes() const {
    Json list = Json::array();
    for (const PassChange& change : request_.changes) {
      std::string option = concat("--", PassChange::kNames[static_cast<std::size_t>(change.kind)]);
      std::ranges::replace(option, '_', '-');
      list.push_back(option + ' ' + change.place);
    }
    return list;
  }

  [[nodiscard]] Json tokens(const Inspection& found) const {
    return logprobs_json(of_.tokenizer, request_.tokens, found.scores);
  }

  [[nodiscard]] Json comparison() const {
    const Inspection& other = *result_.unchanged;
    return {{"name", "the model without changes"},
            {"loss", loss_json(other)},
            {"tokens", tokens(other)},
            {"next", next(other)},
            {"distance", json_list(result_.distance, numbers_json)}};
  }

  [[nodiscard]] Json report() const {
    Json answer = {{"model", of_.name},    {"config", config()},
                   {"changes", changes()}, {"loss", loss_json(found_)},
                   {"next", next(found_)}, {"tokens", tokens(found_)},
                   {"norms", norms()},     {"updates", updates()},
                   {"heads", heads()},     {"mlps", mlps()},
                   {"lens", lens()},       {"contributions", contributions()}};
    if (result_.unchanged) answer["compared_with"] = comparison();
    return answer;
  }

 private:
  [[nodiscard]] Json top(const std::vector<LikelyToken>& tokens) const {
    return json_list(tokens, [this](const LikelyToken& token) {
      return likely_json(of_.tokenizer, token.id, token.logprob);
    });
  }

  const InspectionRequest& request_;
  const InspectionResult& result_;
  const InspectedModel& of_;
  const Inspection& found_;
};

// Appends the lowest `count` bytes of a number.
void append(std::string& bytes, std::uint32_t number, int count) {
  for (int i = 0; i < count; ++i) bytes += static_cast<char>(number >> (8 * i) & 0xff);
}

std::string inputs_of(const InspectionResult& result) {
  std::string bytes;
  for (const std::vector<float>& input : result.inputs) {
    for (const float value : input) append(bytes, std::bit_cast<std::uint32_t>(value) >> 8, 3);
  }
  return base64(bytes);
}

std::string attention_of(const InspectionResult& result) {
  std::string bytes;
  for (const std::vector<float>& weights : result.attention) {
    for (const float weight : weights) {
      append(bytes, static_cast<std::uint32_t>(std::lround(65535.0f * weight)), 2);
    }
  }
  return base64(bytes);
}

std::string parameters_of(const Model& model) {
  std::map<std::string, std::span<const std::byte>> tensors;
  for (const NamedWeight& weight : weights_of(model)) tensors[weight.name] = weight.bytes;
  const Config& config = model.config();
  std::string bytes;
  for (std::size_t norm = 0; norm <= 2 * config.n_layer; ++norm) {
    for (const char* const part : {".weight", ".bias"}) {
      const auto tensor = tensors.find(norm_name(norm, config.n_layer) + part);
      if (tensor == tensors.end()) {  // the checkpoint has no bias
        bytes.append(config.n_embd * sizeof(float), '\0');
        continue;
      }
      const auto* const begin = reinterpret_cast<const char*>(tensor->second.data());
      bytes.append(begin, tensor->second.size());
    }
  }
  return base64(bytes);
}

}  // namespace

Json inspection_json(const InspectionRequest& request, const InspectionResult& result,
                     const InspectedModel& of) {
  Json report = ReportWriter(request, result, of).report();
  for (std::size_t head = 0; head < result.attention.size(); ++head) {
    std::span<const float> weights = result.attention[head];
    Json& rows = report["heads"][head]["weights"] = Json::array();
    for (std::size_t query = 0; query < request.tokens.size(); ++query) {
      rows.push_back(numbers_json(weights.first(query + 1)));
      weights = weights.subspan(query + 1);
    }
  }
  return report;
}

std::string_view inspection_page_begin() {
  const std::string_view page = kPageTemplate[0];
  return page.substr(0, page.find("</title>"));
}

std::string inspection_page(const InspectionRequest& request, const InspectionResult& result,
                            const InspectedModel& of) {
  Json report = ReportWriter(request, result, of).report();
  report["inputs"] = inputs_of(result);
  report["parameters"] = parameters_of(of.model);
  report["attention"] = attention_of(result);
  std::string data = json_text(report) + '\n';
  // In a script element, "<!--" and "</script" would end the data.
  for (std::size_t at = 0; (at = data.find('<', at)) != std::string::npos;) {
    data.replace(at, 1, "\\u003c");
  }
  std::string page;
  for (const std::string_view piece : kPageTemplate) page += piece;
  constexpr std::string_view kPlace = "@DATA@";
  return page.replace(page.find(kPlace), kPlace.size(), data);
}

}  // namespace gpt2
