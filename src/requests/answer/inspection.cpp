#include "requests/answer/inspection.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>

#include "base/text.h"
#include "gpt2/model.h"
#include "inspect/page_template.h"

namespace gpt2 {
namespace {

Json loss_json(const Inspection& found) { return static_cast<float>(loss_of(found)); }

// Makes a list of what `make` returns for each item.
template <class Item, class Make>
Json json_list(const std::vector<Item>& items, const Make& make) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back(make(item));
  return list;
}

Json norm_json(const NormInspection& norm) {
  Json answer = {{"mean", norm.mean}, {"variance", norm.variance}, {"rstd", norm.rstd}};
  if (norm.is_changed()) {
    answer.add("used_mean", norm.used_mean);
    answer.add("used_rstd", norm.used_rstd);
  }
  answer.add("input_norm", norm.input_norm);
  answer.add("output_norm", norm.output_norm);
  answer.add("outliers", json_list(norm.outliers, [](const OutlierDimension& outlier) {
               return Json{{"dimension", outlier.dimension},
                           {"value", outlier.value},
                           {"normalized", outlier.normalized}};
             }));
  return answer;
}

Json update_json(const UpdateInspection& update) {
  return {{"added_norm", update.added_norm}, {"growth", update.growth}, {"cosine", update.cosine}};
}

Json mlp_json(const MlpInspection& mlp) {
  return {{"active_share", mlp.active_share},
          {"largest", json_list(mlp.largest, [](const ActiveNeuron& neuron) {
             return Json{{"neuron", neuron.neuron}, {"value", neuron.value}};
           })}};
}

Json head_json(const HeadInspection& head, std::size_t layer, std::size_t index) {
  return {{"layer", layer},
          {"head", index},
          {"previous_token", head.previous_token},
          {"first_token", head.first_token},
          {"duplicate_token", head.duplicate_token},
          {"induction", head.induction},
          {"entropy", head.entropy},
          {"distance", head.distance}};
}

// Returns the rows of a head's attention weights, each without those of later tokens.
Json weights_json(std::span<const float> weights) {
  Json rows = Json::array();
  for (std::size_t size = 1; !weights.empty(); weights = weights.subspan(size++)) {
    rows.push_back(weights.first(size));
  }
  return rows;
}

// Writes the parts of a report.
class ReportWriter {
 public:
  ReportWriter(const InspectionRequest& request, const InspectionResult& result,
               const InspectedModel& of, bool with_weights)
      : request_(request),
        result_(result),
        of_(of),
        found_(result.found),
        with_weights_(with_weights) {}

  [[nodiscard]] Json config() const {
    const Config& config = of_.model.config();
    return {{"n_layer", config.n_layer},
            {"n_head", config.n_head},
            {"n_embd", config.n_embd},
            {"n_inner", config.inner_dim()},
            {"layer_norm_epsilon", config.layer_norm_epsilon}};
  }

  [[nodiscard]] Json norms() const {
    Json list = Json::array();
    for (std::size_t i = 0; i < found_.norms.size(); ++i) {
      list.push_back(Json{{"name", norm_name(i, of_.model.config().n_layer)},
                          {"tokens", json_list(found_.norms[i], norm_json)}});
    }
    return list;
  }

  [[nodiscard]] Json updates() const {
    Json list = Json::array();
    for (std::size_t i = 0; i < found_.updates.size(); ++i) {
      list.push_back(Json{{"name", concat("h.", i / 2, i % 2 == 0 ? ".attn" : ".mlp")},
                          {"tokens", json_list(found_.updates[i], update_json)}});
    }
    return list;
  }

  [[nodiscard]] Json heads() const {
    Json list = Json::array();
    for (std::size_t layer = 0; layer < found_.heads.size(); ++layer) {
      for (std::size_t head = 0; head < found_.heads[layer].size(); ++head) {
        Json one = head_json(found_.heads[layer][head], layer, head);
        const std::size_t index = layer * found_.heads[layer].size() + head;
        if (with_weights_) one.add("weights", weights_json(result_.attention[index]));
        list.push_back(one);
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
        return Json{{"rank", lens.rank}, {"kl", lens.kl}, {"top", top(lens.top)}};
      });
    });
  }

  [[nodiscard]] Json contributions() const {
    return json_list(found_.contributions, [this](const LogitContributions& of) {
      Json parts = {{"id", of.target}};
      if (of_.tokenizer) parts.add("text", of_.tokenizer->bytes(of.target));
      const std::size_t n_head = of_.model.config().n_head;
      Json heads = Json::array();
      for (std::size_t layer = 0; layer < of.attn.size(); ++layer) {
        heads.push_back(std::span(of.heads).subspan(layer * n_head, n_head));
      }
      parts.add({{"logit", of.logit},
                 {"wte", of.wte},
                 {"wpe", of.wpe},
                 {"attn", of.attn},
                 {"mlp", of.mlp},
                 {"ln_f_bias", of.ln_f_bias},
                 {"changes", of.changes},
                 {"heads", heads},
                 {"attn_bias", of.attn_bias}});
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
            {"distance", result_.distance}};
  }

  [[nodiscard]] Json report() const {
    Json answer = {{"model", of_.name},         {"config", config()},   {"changes", changes()},
                   {"loss", loss_json(found_)}, {"next", next(found_)}, {"tokens", tokens(found_)}};
    // One after the other, because they are long.
    answer.add("norms", norms());
    answer.add("updates", updates());
    answer.add("heads", heads());
    answer.add("mlps", mlps());
    answer.add("lens", lens());
    answer.add("contributions", contributions());
    if (result_.unchanged) answer.add("compared_with", comparison());
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
  const bool with_weights_;
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
  return ReportWriter(request, result, of, !result.attention.empty()).report();
}

std::string_view inspection_page_begin() {
  const std::string_view page = kPageTemplate[0];
  return page.substr(0, page.find("</title>"));
}

std::string inspection_page(const InspectionRequest& request, const InspectionResult& result,
                            const InspectedModel& of) {
  Json report = ReportWriter(request, result, of, false).report();
  report.add("inputs", inputs_of(result));
  report.add("parameters", parameters_of(of.model));
  report.add("attention", attention_of(result));
  std::string data = std::move(report).text() + '\n';
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
