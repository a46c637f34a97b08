// Large regions of all nodes of a box of the lattice, and the weight of all trees that specialise each of them. The
// readable twins are in kernels/walk.py.
#include "walk.h"

#include <cmath>
#include <memory>
#include <new>

namespace {

using shoal::Attribute;
using shoal::attributes_of;
using shoal::Row;

// Where a key is among ascending keys that hold it; keys are asked for in nearly ascending order.
size_t find(const uint64_t *keys, size_t number, size_t near, uint64_t key) {
    if (keys[near] == key) return near;
    const uint64_t *from = keys[near] < key ? keys + near : keys;
    const uint64_t *to = keys[near] < key ? keys + number : keys + near;
    return static_cast<size_t>(std::lower_bound(from, to, key) - keys);
}

} // namespace

// Find the regions of at least `smallest` records, node by node in the order of the walk, ascending inside a node;
// offsets[node] is the number of regions before the node. The size of a region is the largest number of its records
// with one value of the last `target` bits. Return what `shoal_take_regions` takes, or 0 for want of memory.
SHOAL_API int64_t shoal_large_regions(int64_t rows, int64_t number, int64_t target, int64_t smallest,
                                      const uint64_t *keys, const int64_t *counts, const double *costs,
                                      const int32_t *steps, const int32_t *shifts, const int32_t *bits,
                                      const int64_t *lengths, const int32_t *maps, const double *changes,
                                      int64_t *offsets) try {
    auto regions = std::make_unique<std::vector<Row>>();
    shoal::Walk walk(attributes_of(number, steps, shifts, bits, lengths, maps, changes));
    walk.run(
        shoal::table_of(rows, keys, counts, costs), [](size_t, size_t) { return true; },
        [&](const std::vector<Row> &node) {
            *offsets++ = static_cast<int64_t>(regions->size());
            for (size_t i = 0, end; i < node.size(); i = end) {
                int64_t size = node[i].count;
                for (end = i + 1; end < node.size() && node[end].key >> target == node[i].key >> target; ++end)
                    size = std::max(size, node[end].count);
                if (size >= smallest) regions->push_back({node[i].key >> target << target, size, node[i].cost});
            }
        });
    *offsets = static_cast<int64_t>(regions->size());
    return reinterpret_cast<int64_t>(regions.release());
} catch (const std::bad_alloc &) {
    return 0;
}

// Write the regions that `shoal_large_regions` found, and forget them.
SHOAL_API void shoal_take_regions(int64_t found, uint64_t *keys, int64_t *sizes, double *costs) {
    const std::unique_ptr<std::vector<Row>> regions(reinterpret_cast<std::vector<Row> *>(found));
    for (const Row &region : *regions) *keys++ = region.key, *sizes++ = region.count, *costs++ = region.cost;
}

// Write, for every region, the logarithm of the weight of all trees that specialise it, as an integer number of units:
// log(1/2 exp(stops) + 1/(2a) sum over the a attributes that can be specialised of exp(sum of weights of the children)).
SHOAL_API void shoal_weigh_trees(int64_t number, double unit, const int32_t *steps, const int32_t *shifts,
                                 const int32_t *bits, const int64_t *lengths, const int32_t *maps,
                                 const double *changes, const int64_t *offsets, const uint64_t *keys,
                                 const int64_t *stops, int64_t *weights) {
    const std::vector<Attribute> attributes = attributes_of(number, steps, shifts, bits, lengths, maps, changes);
    std::vector<int64_t> volumes(number + 1, 1);
    for (int32_t d = number; d-- > 0;) volumes[d] = volumes[d + 1] * (steps[d] + 1);
    std::vector<int64_t> options;
    for (int64_t node = 0; node < volumes[0]; ++node) {
        const int64_t first = offsets[node];
        const size_t regions = static_cast<size_t>(offsets[node + 1] - first);
        if (!regions) continue;
        options.assign(regions * static_cast<size_t>(number), 0);
        size_t available = 0;
        for (int32_t d = 0; d < number; ++d) {
            const int64_t step = node / volumes[d + 1] % (steps[d] + 1);
            if (!step) continue;
            const Attribute &attribute = attributes[d];
            const int32_t *map = attribute.maps[step - 1];
            int64_t *option = options.data() + regions * available++;
            const int64_t below = node - volumes[d + 1];
            size_t place = 0;
            for (int64_t child = offsets[below]; child < offsets[below + 1]; ++child) {
                const uint64_t code = keys[child] >> attribute.shift & attribute.mask;
                const uint64_t field = attribute.mask << attribute.shift;
                const uint64_t key = (keys[child] & ~field) | static_cast<uint64_t>(map[code]) << attribute.shift;
                place = find(keys + first, regions, place, key);
                option[place] += weights[child];
            }
        }
        for (size_t i = 0; i < regions; ++i) {
            const int64_t stop = stops[first + i];
            if (!available) {
                weights[first + i] = stop;
                continue;
            }
            int64_t largest = stop;
            for (size_t a = 0; a < available; ++a) largest = std::max(largest, options[regions * a + i]);
            double sum = 0.0;
            for (size_t a = 0; a < available; ++a)
                sum += std::exp(static_cast<double>(options[regions * a + i] - largest) * unit);
            sum = (std::exp(static_cast<double>(stop - largest) * unit) + sum / static_cast<double>(available)) / 2;
            weights[first + i] = largest + static_cast<int64_t>(std::rint(std::log(sum) / unit));
        }
    }
}
