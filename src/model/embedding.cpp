#include "model/embedding.h"

#include "kernels/kernels.h"
#include "kernels/pack.h"

namespace gpt2 {
namespace {

// y = row `index` of the table.
void read_row(float* y, const Weight& table, std::size_t index) {
  const Kernels& k = kernels();
  const std::size_t n = table.k;
  switch (table.format) {
    case WeightFormat::f32: return k.widen_f32(y, table.data + index * n * 4, n);
    case WeightFormat::f16: return k.widen_f16(y, table.data + index * n * 2, n);
    case WeightFormat::bf16: return k.widen_bf16(y, table.data + index * n * 2, n);
    case WeightFormat::int8: return unpack_int8(y, table.data, n, index);
    case WeightFormat::int4: return unpack_int4(y, table.data, n, index);
  }
}

}  // namespace

void Embedding::forward(Team& team, Matrix x, const Batch& batch, Workspace& ws) const noexcept {
  team.for_each(x.rows, [&](std::size_t i) {
    read_row(x.row(i), wte, static_cast<std::size_t>(batch.tokens[i]));
    float* const position = ws.normed.row(i);
    read_row(position, wpe, batch.position[i]);
    kernels().add(x.row(i), position, x.cols);
  });
}

}  // namespace gpt2
