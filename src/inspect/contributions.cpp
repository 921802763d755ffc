#include "inspect/pass_record.h"

#include "inspect/vectors.h"
#include "model/transformer.h"

namespace gpt2 {
namespace {

// Returns the elements of a matrix as (k, n) floats.
std::vector<float> elements_of(const Weight& weight) {
  std::vector<float> all(weight.size());
  if (const auto type = weight.float_type(); type && weight.layout == Weight::Layout::kn) {
    widen_kernel (*type)(all.data(), weight.data, all.size());
    return all;
  }
  std::vector<float> row(weight.k);
  for (std::size_t feature = 0; feature < weight.n; ++feature) {
    weight.read_row(row.data(), feature);
    for (std::size_t i = 0; i < weight.k; ++i) all[i * weight.n + feature] = row[i];
  }
  return all;
}

// Returns the row of an embedding or of lm_head.
std::vector<float> row_of(const Weight& table, std::size_t i) {
  std::vector<float> row(table.k);
  table.read_row(row.data(), i);
  return row;
}

// The vectors by which the parts of token t's state are multiplied, so that the products are their
// contributions to the logit of its target: c = rstd * (d - mean(d)), where d is ln_f.weight *
// lm_head[target]. Subtracting the mean of d here is the same as subtracting that of the part.
//
// If an observer has changed ln_f's statistics, its mean is a constant: c = rstd * d.
class Directions {
 public:
  Directions(const Transformer& transformer, Inspection& found)
      : n_embd_(transformer.config.n_embd), all_(found.contributions.size() * n_embd_) {
    for (std::size_t token = 0; token < found.contributions.size(); ++token) {
      set(transformer, found.contributions[token], found.norms.back()[token],
          std::span(all_).subspan(token * n_embd_, n_embd_));
    }
  }

  [[nodiscard]] std::span<const double> of(std::size_t token) const {
    return std::span(all_).subspan(token * n_embd_, n_embd_);
  }

 private:
  // Writes the vector to d, and sets ln_f_bias.
  static void set(const Transformer& transformer, LogitContributions& logit,
                  const NormInspection& ln_f, std::span<double> d) {
    const Tensor& weight = transformer.ln_f.weight;
    const Tensor& bias = transformer.ln_f.bias;
    const auto u = row_of(transformer.lm_head, static_cast<std::size_t>(logit.target));
    double sum = 0.0;
    for (std::size_t i = 0; i < d.size(); ++i) {
      d[i] = static_cast<double>(u[i]) * static_cast<double>(weight.data()[i]);
      sum += d[i];
    }
    const bool is_changed = ln_f.is_changed();
    const double mean = is_changed ? 0.0 : sum / static_cast<double>(d.size());
    double constant = is_changed ? -double{ln_f.used_mean} * double{ln_f.used_rstd} * sum : 0.0;
    if (bias.size() > 0) {
      constant += dot(std::span<const float>(u), std::span(bias.data(), d.size()));
    }
    logit.ln_f_bias = static_cast<float>(constant);
    for (double& value : d) value = (value - mean) * double{ln_f.used_rstd};
  }

  std::size_t n_embd_;
  std::vector<double> all_;
};

// Adds what each head of a layer contributes through attn.c_proj, and what is left of `attn`.
void add_heads(Inspection& found, const Engine& engine, const Attention& attention,
               const Directions& directions, ConstMatrix outputs) {
  const std::vector<float> c_proj = elements_of(attention.c_proj.weight);
  const std::size_t n_embd = outputs.cols, n_head = attention.n_head;
  engine.for_each(outputs.rows, [&](std::size_t token, int) {
    LogitContributions& logit = found.contributions[token];
    const std::span<const double> c = directions.of(token);
    double rest = logit.attn[attention.layer];
    for (std::size_t head = 0; head < n_head; ++head) {
      double sum = 0.0;
      for (std::size_t i = head * n_embd / n_head; i < (head + 1) * n_embd / n_head; ++i) {
        sum += static_cast<double>(outputs.row(token)[i]) *
               dot(std::span<const float>(c_proj).subspan(i * n_embd, n_embd), c);
      }
      logit.heads[attention.layer * n_head + head] = static_cast<float>(sum);
      rest -= sum;
    }
    logit.attn_bias[attention.layer] = static_cast<float>(rest);
  });
}

}  // namespace

void inspect_contributions(Inspection& found, const Engine& engine, const PassRecord& pass,
                           std::span<const TokenId> tokens) {
  const Transformer& transformer = *engine.model().transformer();
  const std::size_t n_layer = transformer.blocks.size();
  const std::size_t n_head = transformer.config.n_head;
  const Directions directions(transformer, found);
  for (std::size_t token = 0; token < tokens.size(); ++token) {
    LogitContributions& logit = found.contributions[token];
    const auto contribution = [&](std::span<const float> part) {
      return static_cast<float>(dot(part, directions.of(token)));
    };
    const auto of_row = [&](ConstMatrix rows) {
      return contribution({rows.row(token), rows.cols});
    };
    const auto id = static_cast<std::size_t>(tokens[token]);
    logit.wte = contribution(row_of(transformer.embedding.wte, id));
    logit.wpe = contribution(row_of(transformer.embedding.wpe, token));
    for (std::size_t layer = 0; layer < n_layer; ++layer) {
      logit.attn.push_back(of_row(pass.added(layer, 0)));
      logit.mlp.push_back(of_row(pass.added(layer, 1)));
    }
    const std::vector<float> u =
        row_of(transformer.lm_head, static_cast<std::size_t>(logit.target));
    const ConstMatrix output = pass.output();
    double rest =
        dot(std::span<const float>(output.row(token), output.cols), std::span<const float>(u)) -
        double{logit.ln_f_bias};
    for (const float part : {logit.wte, logit.wpe}) rest -= double{part};
    for (const auto* parts : {&logit.attn, &logit.mlp}) {
      for (const float part : *parts) rest -= double{part};
    }
    logit.changes = static_cast<float>(rest);
    logit.heads.resize(n_layer * n_head);
    logit.attn_bias.resize(n_layer);
  }
  for (std::size_t layer = 0; layer < n_layer; ++layer) {
    add_heads(found, engine, transformer.blocks[layer].attn, directions, pass.head_outputs(layer));
  }
}

}  // namespace gpt2
