#include "harness/backends/cuda/device/guarded.hpp"

#include "harness/backends/cuda/device/check.hpp"

namespace gla_bench::cuda {
namespace {

constexpr std::size_t zone_bytes = 4096;
constexpr unsigned whole = 0xffffffffu;

}  // namespace

GuardedBuffers::GuardedBuffers(const Helpers& helpers, cudaStream_t stream,
                               const std::vector<Region>& regions)
    : helpers_(helpers), stream_(stream) {
  std::vector<Zone> zones;
  for (const Region& region : regions) {
    Buffer buffer{region.name, region.bytes,
                  DeviceMemory(region.bytes + 2 * zone_bytes, "'" + region.name + "'"), nullptr};
    auto* start = buffer.memory.as<unsigned char>();
    buffer.begin = buffer.memory.as<std::byte>() + zone_bytes;
    zones.push_back({start, zone_bytes});
    zones.push_back({start + zone_bytes + region.bytes, zone_bytes});
    buffers_.push_back(std::move(buffer));
  }
  if (zones.empty()) return;
  zones_ = DeviceMemory(zones.size() * sizeof(Zone), "guard zones");
  first_bad_ = DeviceMemory(zones.size() * sizeof(unsigned), "guard zones");
  check(cudaMemcpyAsync(zones_.data(), zones.data(), zones.size() * sizeof(Zone),
                        cudaMemcpyHostToDevice, stream_),
        "cudaMemcpyAsync");
  helpers_.fill_zones(zones_.as<Zone>(), static_cast<unsigned>(zones.size()), stream_);
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
}

const GuardedBuffers::Buffer* GuardedBuffers::buffer(std::string_view name) const {
  for (const Buffer& candidate : buffers_)
    if (candidate.name == name) return &candidate;
  return nullptr;
}

std::byte* GuardedBuffers::find(std::string_view name) const {
  const Buffer* found = buffer(name);
  return found == nullptr ? nullptr : found->begin;
}

std::size_t GuardedBuffers::bytes(std::string_view name) const {
  const Buffer* found = buffer(name);
  return found == nullptr ? 0 : found->bytes;
}

void GuardedBuffers::poison(std::string_view name) const {
  if (const Buffer* found = buffer(name); found != nullptr && found->bytes > 0)
    check(cudaMemsetAsync(found->begin, 0xff, found->bytes, stream_), "cudaMemsetAsync");
}

void GuardedBuffers::poison_all() const {
  for (const Buffer& each : buffers_) poison(each.name);
}

std::optional<std::string> GuardedBuffers::damage() const {
  std::vector<unsigned> first_bad(2 * buffers_.size());
  const std::size_t bytes = first_bad.size() * sizeof(unsigned);
  if (bytes == 0) return std::nullopt;
  check(cudaMemsetAsync(first_bad_.data(), 0xff, bytes, stream_), "cudaMemsetAsync");
  helpers_.check_zones(zones_.as<Zone>(), first_bad_.as<unsigned>(),
                       static_cast<unsigned>(first_bad.size()), stream_);
  check(
      cudaMemcpyAsync(first_bad.data(), first_bad_.data(), bytes, cudaMemcpyDeviceToHost, stream_),
      "cudaMemcpyAsync");
  check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    if (const unsigned at = first_bad[2 * i + 1]; at != whole)
      return "guard zone behind '" + buffers_[i].name + "' overwritten at byte " +
             std::to_string(at);
    if (const unsigned at = first_bad[2 * i]; at != whole)
      return "guard zone before '" + buffers_[i].name + "' overwritten " +
             std::to_string(zone_bytes - at) + " bytes ahead of it";
  }
  return std::nullopt;
}

}  // namespace gla_bench::cuda
