#include "cli/inspect/report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace gpt2::cli {
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
Json list_of(const std::vector<Item>& items, const Make& make) {
  Json list = Json::array();
  for (const Item& item : items) list.push_back(make(item));
  return list;
}

Json norm_json(const NormInspection& norm) {
  Json json = {{"mean", short_number(norm.mean)},
               {"variance", short_number(norm.variance)},
               {"rstd", short_number(norm.rstd)}};
  if (norm.is_changed()) {
    json["used_mean"] = short_number(norm.used_mean);
    json["used_rstd"] = short_number(norm.used_rstd);
  }
  json["input_norm"] = short_number(norm.input_norm);
  json["output_norm"] = short_number(norm.output_norm);
  json["outliers"] = list_of(norm.outliers, [](const OutlierDimension& outlier) {
    return Json{{"dimension", outlier.dimension},
                {"value", short_number(outlier.value)},
                {"normalized", short_number(outlier.normalized)}};
  });
  return json;
}

Json update_json(const UpdateInspection& update) {
  return {{"added_norm", short_number(update.added_norm)},
          {"growth", short_number(update.growth)},
          {"cosine", short_number(update.cosine)}};
}

Json mlp_json(const MlpInspection& mlp) {
  return {{"active_share", short_number(mlp.active_share)},
          {"largest", list_of(mlp.largest, [](const ActiveNeuron& neuron) {
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

class Writer {
 public:
  explicit Writer(const Report& report) : report_(report), found_(report.found) {}

  [[nodiscard]] Json config() const {
    const Config& config = report_.model.config();
    return {{"n_layer", config.n_layer},
            {"n_head", config.n_head},
            {"n_embd", config.n_embd},
            {"n_inner", config.inner_dim()},
            {"layer_norm_epsilon", short_number(config.layer_norm_epsilon)}};
  }

  [[nodiscard]] Json norms() const {
    Json list = Json::array();
    for (std::size_t i = 0; i < found_.norms.size(); ++i) {
      list.push_back({{"name", norm_name(i, report_.model.config().n_layer)},
                      {"tokens", list_of(found_.norms[i], norm_json)}});
    }
    return list;
  }

  [[nodiscard]] Json updates() const {
    Json list = Json::array();
    for (std::size_t i = 0; i < found_.updates.size(); ++i) {
      list.push_back({{"name", concat("h.", i / 2, i % 2 == 0 ? ".attn" : ".mlp")},
                      {"tokens", list_of(found_.updates[i], update_json)}});
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
    return list_of(found_.mlps, [](const auto& mlp) { return list_of(mlp, mlp_json); });
  }

  [[nodiscard]] Json lens() const {
    return list_of(found_.lens, [this](const auto& layer) {
      return list_of(layer, [this](const LensInspection& lens) {
        return Json{{"rank", lens.rank}, {"kl", short_number(lens.kl)}, {"top", top(lens.top)}};
      });
    });
  }

  [[nodiscard]] Json contributions() const {
    return list_of(found_.contributions, [this](const LogitContributions& of) {
      Json json = {{"id", of.target}};
      if (report_.tokenizer) json["text"] = report_.tokenizer->bytes(of.target);
      json.update({{"logit", short_number(of.logit)},
                   {"wte", short_number(of.wte)},
                   {"wpe", short_number(of.wpe)},
                   {"attn", numbers_json(of.attn)},
                   {"mlp", numbers_json(of.mlp)},
                   {"ln_f_bias", short_number(of.ln_f_bias)},
                   {"changes", short_number(of.changes)},
                   {"heads", Json::array()},
                   {"attn_bias", numbers_json(of.attn_bias)}});
      const std::size_t n_head = report_.model.config().n_head;
      for (std::size_t layer = 0; layer < of.attn.size(); ++layer) {
        json["heads"].push_back(numbers_json(std::span(of.heads).subspan(layer * n_head, n_head)));
      }
      return json;
    });
  }

  // The likeliest tokens after the text.
  [[nodiscard]] Json next(const Inspection& found) const {
    return top(found.lens.back().back().top);
  }

  [[nodiscard]] Json comparison() const {
    const Comparison& other = *report_.compared;
    return {{"name", other.name},
            {"loss", loss_json(other.found)},
            {"tokens", logprobs_json(report_.tokenizer, report_.tokens, other.found.scores)},
            {"next", next(other.found)},
            {"distance", list_of(other.distance, numbers_json)}};
  }

 private:
  [[nodiscard]] Json top(const std::vector<LikelyToken>& tokens) const {
    return list_of(tokens, [this](const LikelyToken& token) {
      return likely_json(report_.tokenizer, token.id, token.logprob);
    });
  }

  const Report& report_;
  const Inspection& found_;
};

}  // namespace

std::string norm_name(std::size_t norm, std::size_t n_layer) {
  if (norm == NormIndex::ln_f(n_layer)) return "ln_f";
  return concat("h.", norm / 2, norm % 2 == 0 ? ".ln_1" : ".ln_2");
}

Json report_json(const Report& report) {
  const Writer writer(report);
  Json json = {{"model", report.model_name},
               {"config", writer.config()},
               {"changes", report.changes},
               {"loss", loss_json(report.found)},
               {"next", writer.next(report.found)},
               {"tokens", logprobs_json(report.tokenizer, report.tokens, report.found.scores)},
               {"norms", writer.norms()},
               {"updates", writer.updates()},
               {"heads", writer.heads()},
               {"mlps", writer.mlps()},
               {"lens", writer.lens()},
               {"contributions", writer.contributions()}};
  if (report.compared) json["compared_with"] = writer.comparison();
  return json;
}

void add_attention(Json& report, const Activations& activations) {
  const std::size_t tokens = report["tokens"].size();
  for (Json& head : report["heads"]) {
    std::span<const float> weights =
        activations.rows(Observed::attention_weights, head["layer"].get<std::size_t>(),
                         head["head"].get<std::size_t>());
    Json& rows = head["weights"] = Json::array();
    for (std::size_t query = 0; query < tokens; ++query) {
      rows.push_back(numbers_json(weights.first(query + 1)));
      weights = weights.subspan(query + 1);
    }
  }
}

}  // namespace gpt2::cli
