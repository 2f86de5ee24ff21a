# Puts the kernels' sources inside the binary.
function(gla_bench_embed_sources target)
endfunction()
