docker run --rm -it --gpus '"device=0"' \
  --shm-size=72g --memory=128g \
  -p 127.0.0.1:8000:8000 \
  --mount type=bind,src="$HOME/models",dst=/models,ro \
  vllm/vllm-openai:v0.32.0 \
  --model /models/Qwen3-14B-AWQ --kv-cache-dtype fp8 \
  --kv-offloading-size 64 --kv-offloading-backend native
