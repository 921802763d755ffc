#include "serve/embedding_job.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace gpt2::serve {
namespace {

class EmbeddingJob : public Job {
 public:
  EmbeddingJob(const ServedModel& model, EmbeddingRequest request, std::shared_ptr<Call> call)
      : Job(std::move(call)), model_(model), request_(std::move(request)) {}

  [[nodiscard]] bool has_own_passes() const override { return true; }

  void compute(const std::function<void()>& between) override {
    EmbedOptions options = request_.options;
    options.progress = [&](double) { pause(between); };
    auto vectors = embed(model_.engine, request_.inputs, options);
    for (const auto& input : request_.inputs) call_->metrics.count_tokens(input.size(), 0);
    call_->send(200, embedding_json(request_, model_.name, std::move(vectors)));
  }

 private:
  const ServedModel& model_;
  const EmbeddingRequest request_;
};

}  // namespace

std::unique_ptr<Job> embedding_job(const ServedModel& model, EmbeddingRequest request,
                                   std::shared_ptr<Call> call) {
  return std::make_unique<EmbeddingJob>(model, std::move(request), std::move(call));
}

}  // namespace gpt2::serve
