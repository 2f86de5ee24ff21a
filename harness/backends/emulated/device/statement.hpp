#pragma once
// Which function does what each PTX instruction asks for, and the asm statement that is made of
// them.

#include "sm90.hpp"

namespace gla_bench::emulated {

using Handler = void (*)(Lane& operands, const char* name);

struct Known {
  const char* beginning;  ///< of the instruction's name; the first that fits counts
  Handler handler;
};

#define GLA_BENCH_WGMMA(n)                                     \
  {"wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.bf16.bf16", \
   warpgroup_product<Bfloat16Operands, n>},                    \
  {                                                            \
    "wgmma.mma_async.sync.aligned.m64n" #n "k16.f32.f16.f16",  \
        warpgroup_product<Float16Operands, n>                  \
  }

inline constexpr Known known[] = {
    {"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", of_warp<multiply<Bfloat16Operands>>},
    {"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", of_warp<multiply<Float16Operands>>},
    {"mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32", of_warp<multiply<Tf32Operands>>},
    {"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16", of_warp<load_matrices<true>>},
    {"ldmatrix.sync.aligned.m8n8.x4.shared.b16", of_warp<load_matrices<false>>},
    {"stmatrix.sync.aligned.m8n8.x4.trans.shared.b16", of_warp<store_matrices<true>>},
    {"stmatrix.sync.aligned.m8n8.x4.shared.b16", of_warp<store_matrices<false>>},
    {"movmatrix.sync.aligned.m8n8.trans.b16", of_warp<transpose_matrix>},
    {"ex2.approx.ftz.f32", exp2_fast},
    {"rcp.approx.ftz.f32", reciprocal_fast},
    {"cvt.rna.tf32.f32", round_tf32},
    {"cvt.rn.bf16x2.f32", pack_bfloat16},
    {"cvt.rn.f16x2.f32", pack_float16},
    {"mul.bf16x2", multiply_pairs},
    {"max.bf16x2", larger_pairs},
    {"prmt.b32", permute_bytes},
    {"mov.b32", move},
    {"cp.async.ca.shared.global", copy_async},
    {"cp.async.cg.shared.global", copy_async},
    {"cp.async.commit_group", commit_copies},
    {"cp.async.wait_group", wait_copies},
    {"ld.shared.", load_words<true>},
    {"st.shared.", store_shared_words},
    {"ld.acquire.gpu.global.", load_words<false>},
    {"st.global.L2::cache_hint", store_words},
    {"red.global.add.v4.f32", add_to_memory<float>},
    {"red.relaxed.gpu.global.add.v4.f32", add_to_memory<float>},
    {"red.release.gpu.global.add.s32", add_to_memory<int>},
    {"mbarrier.init.shared::cta.b64", barrier_init},
    {"mbarrier.inval.shared::cta.b64", barrier_invalidate},
    {"mbarrier.arrive.shared::cta.b64", barrier_arrive},
    {"mbarrier.arrive.expect_tx.shared::cta.b64", barrier_expect},
    {"mbarrier.try_wait.parity.shared::cta.b64", barrier_wait},
    {"mbarrier.arrive.relaxed.cluster.shared::cluster.b64", barrier_arrive},
    {"mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64", barrier_wait},
    {"barrier.cluster.arrive.release", cluster_arrive},
    {"barrier.cluster.wait.acquire", cluster_wait},
    {"mapa.shared::cluster.u32", map_address},
    {"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.f32", store_async},
    {"barrier.sync", named_barrier},
    {"barrier.arrive", named_arrive},
    {"barrier.red.or.pred", named_barrier_or},
    {"cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier", copy_box_in},
    {"cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group", copy_box_out<false>},
    {"cp.reduce.async.bulk.tensor.4d.global.shared::cta.add.tile.bulk_group", copy_box_out<true>},
    {"cp.async.bulk.shared::cluster.global.mbarrier", copy_bytes_in},
    {"cp.async.bulk.global.shared::cta.bulk_group", copy_bytes_out<false>},
    {"cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32", copy_bytes_out<true>},
    {"cp.async.bulk.commit_group", commit_out},
    {"cp.async.bulk.wait_group", wait_out},
    GLA_BENCH_WGMMA(32),
    GLA_BENCH_WGMMA(64),
    GLA_BENCH_WGMMA(80),
    GLA_BENCH_WGMMA(96),
    GLA_BENCH_WGMMA(112),
    GLA_BENCH_WGMMA(128),
    GLA_BENCH_WGMMA(160),
    GLA_BENCH_WGMMA(176),
    GLA_BENCH_WGMMA(192),
    GLA_BENCH_WGMMA(256),
    // What orders accesses that are in order here, or changes their speed alone.
    {"createpolicy.", nothing},
    {"fence.", nothing},
    {"griddepcontrol.", nothing},
    {"prefetch.tensormap", nothing},
    {"cp.async.bulk.prefetch.", nothing},
    {"setmaxnreg.", nothing},
    {"wgmma.fence.", nothing},
    {"wgmma.commit_group.", nothing},
    {"wgmma.wait_group.", nothing},
};

#undef GLA_BENCH_WGMMA

inline void unknown(Lane&, const char* name) {
  gla_bench_emulated.runtime->fail(
      (std::string("the emulator does not know the instruction ") + name).c_str());
}

/// The instructions of one asm statement. Predicates have a letter as their name.
class Statement {
 public:
  explicit Statement(const char* text) {
    std::string rest = text;
    if (rest.find_first_not_of(" \n\t") != std::string::npos &&
        rest[rest.find_first_not_of(" \n\t")] == '{') {
      rest.erase(0, rest.find('{') + 1);
      rest.erase(rest.rfind('}'));
    }
    for (std::size_t begin = 0; begin < rest.size();) {
      const std::size_t end = std::min(rest.find(';', begin), rest.size());
      add(rest.substr(begin, end - begin));
      begin = end + 1;
    }
  }

  void run(const Operand* statement) const {
    unsigned predicates[26] = {};
    for (const Instruction& instruction : instructions_) {
      Lane operands;
      for (const Place& place : instruction.places)
        operands.push_back(place.kind == Place::operand     ? statement[place.number]
                           : place.kind == Place::predicate ? variable(predicates[place.number])
                                                            : value(place.number));
      if (instruction.name.rfind("setp.ne.", 0) == 0)
        operands[0].set<unsigned>(operands[1].as<unsigned>() != operands[2].as<unsigned>());
      else if (instruction.name.rfind("selp.", 0) == 0)
        operands[0].set(operands[operands[3].as<unsigned>() != 0 ? 1 : 2].as<unsigned>());
      else
        instruction.handler(operands, instruction.name.c_str());
    }
  }

 private:
  struct Place {
    enum Kind { operand, predicate, number_itself } kind;
    int number;
  };
  struct Instruction {
    std::string name;
    Handler handler;
    std::vector<Place> places;
  };

  static Handler handler_of(const std::string& name) {
    for (const Known& each : known)
      if (name.rfind(each.beginning, 0) == 0) return each.handler;
    return unknown;
  }

  void add(const std::string& text) {
    const std::size_t begin = text.find_first_not_of(" \n\t");
    if (begin == std::string::npos || text.compare(begin, 4, ".reg") == 0) return;
    const std::size_t end = std::min(text.find_first_of(" \n\t", begin), text.size());
    Instruction instruction{text.substr(begin, end - begin), nullptr, {}};
    instruction.handler = handler_of(instruction.name);
    const auto is_digit = [&](std::size_t i) { return text[i] >= '0' && text[i] <= '9'; };
    for (std::size_t i = end; i < text.size();) {
      std::size_t length = 0;
      if (text[i] == '%' && i + 1 < text.size() && is_digit(i + 1)) {
        instruction.places.push_back({Place::operand, std::stoi(text.substr(i + 1), &length)});
        ++length;
      } else if (is_digit(i)) {
        instruction.places.push_back({Place::number_itself, std::stoi(text.substr(i), &length, 0)});
      } else if (text[i] >= 'a' && text[i] <= 'z') {
        instruction.places.push_back({Place::predicate, text[i] - 'a'});
      }
      i += std::max<std::size_t>(length, 1);
    }
    instructions_.push_back(std::move(instruction));
  }

  std::vector<Instruction> instructions_;
};

}  // namespace gla_bench::emulated
