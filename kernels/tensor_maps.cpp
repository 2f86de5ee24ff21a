#include "kernels/tensor_maps.hpp"

namespace gla_bench {

void bind_behind_maps(Variant& variant, std::size_t maps) {
  variant.bind = [bind = variant.bind, maps](const Problem& problem, const Tile& tile,
                                             const Address& address) {
    ParamBytes bytes = bind(problem, tile, address);
    bytes.insert(bytes.begin(), maps * tensor_map_bytes, std::byte{0});
    bytes.resize((bytes.size() + 63) / 64 * 64);
    return bytes;
  };
}

}  // namespace gla_bench
