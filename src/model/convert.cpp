#include "model/convert.h"

#include <cstdint>
#include <cstring>

#include "base/aligned_buffer.h"
#include "base/float16.h"
#include "base/parallel.h"
#include "gpt2/runtime.h"
#include "kernels/pack.h"

namespace gpt2 {
namespace {

// y[i] = x[i] in another float format; one row of the matrix.
void narrow(std::byte* y, const float* x, std::size_t n, WeightFormat format) {
  if (format == WeightFormat::f32) {
    std::memcpy(y, x, n * sizeof(float));
    return;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::uint16_t bits = format == WeightFormat::f16 ? to_f16(x[i]) : to_bf16(x[i]);
    std::memcpy(y + i * sizeof bits, &bits, sizeof bits);
  }
}

std::size_t element_bytes(WeightFormat format) { return format == WeightFormat::f32 ? 4 : 2; }

void convert_floats(std::byte* to, WeightFormat to_format, const Weight& from) {
  constexpr std::size_t kRun = 4096;  // elements widened at a time
  const auto widen = widen_kernel(from.format);
  parallel(thread_count(), [&](Team& team) {
    team.for_ranges(from.k * from.n, kRun, [&](std::size_t begin, std::size_t end) {
      float values[kRun];
      widen(values, from.data + begin * element_bytes(from.format), end - begin);
      narrow(to + begin * element_bytes(to_format), values, end - begin, to_format);
    });
  });
}

void pack(std::byte* to, WeightFormat to_format, const Weight& from) {
  const StoredMatrix matrix{.data = from.data,
                            .element_size = element_bytes(from.format),
                            .widen = widen_kernel(from.format),
                            .k = from.k,
                            .n = from.n,
                            .k_major = from.layout == Weight::Layout::kn};
  const auto pack_panels = to_format == WeightFormat::int8 ? pack_int8 : pack_int4;
  parallel(thread_count(), [&](Team& team) {
    team.for_each(panel_count(from.n), [&](std::size_t i) { pack_panels(to, matrix, i, i + 1); });
  });
}

}  // namespace

WeightFormat format_of(WeightType type, WeightFormat stored) {
  switch (type) {
    case WeightType::stored: break;
    case WeightType::f32: return WeightFormat::f32;
    case WeightType::f16: return WeightFormat::f16;
    case WeightType::bf16: return WeightFormat::bf16;
    case WeightType::int8: return WeightFormat::int8;
    case WeightType::int4: return WeightFormat::int4;
  }
  return stored;
}

decltype(Kernels::widen_f32) widen_kernel(WeightFormat format) {
  const Kernels& k = kernels();
  switch (format) {
    case WeightFormat::f16: return k.widen_f16;
    case WeightFormat::bf16: return k.widen_bf16;
    default: return k.widen_f32;
  }
}

void convert_all(Transformer& transformer, WeightType type) {
  ModelDescription& description = transformer.description;
  description.mapped_bytes = transformer.embedding.wpe.bytes();
  const auto change = [&](Weight& weight) {
    Weight changed = weight;
    changed.format = format_of(type, weight.format);
    if (changed.format == weight.format) {
      description.mapped_bytes += weight.bytes();
      return;
    }
    const auto buffer = std::make_shared<AlignedBuffer<std::byte>>(changed.bytes());
    (changed.is_packed() ? pack : convert_floats)(buffer->data(), changed.format, weight);
    changed.data = buffer->data();
    transformer.storage.push_back(buffer);
    description.converted_bytes += changed.bytes();
    weight = changed;
  };
  change(transformer.embedding.wte);
  if (transformer.config.tie_word_embeddings) {
    transformer.lm_head = transformer.embedding.wte;
  } else {
    change(transformer.lm_head);
  }
  for (Block& block : transformer.blocks) {
    for (Linear* linear :
         {&block.attn.c_attn, &block.attn.c_proj, &block.mlp.c_fc, &block.mlp.c_proj}) {
      change(linear->weight);
    }
  }
}

}  // namespace gpt2
